// Runs in every document after our other init scripts; `BINDING` sends messages to the recorder and is hidden from pages.
(() => {
  const own = window.__eikon__;
  const send = window.BINDING;
  delete window.BINDING;
  for (const name of ['__playwright__binding__', '__playwright__binding__controller__']) {
    const found = Object.getOwnPropertyDescriptor(window, name);
    if (found?.configurable) Object.defineProperty(window, name, { ...found, enumerable: false });
  }
  if (!own?.inspect || !send || own.recorder) return;
  const recorder = own.recorder = { isBar: () => false };
  const { stringify } = JSON;
  const report = message => { send(stringify(message)).catch(() => {}); };
  (SELECTORS)(recorder, own);
  if (window === window.top) {
    (BAR)(recorder, report);
    const attach = () => recorder.attachBar();
    document.addEventListener('DOMContentLoaded', attach);
    window.addEventListener('load', attach);
    if (document.readyState !== 'loading') attach();
  }
  (EVENTS)(recorder, own, report);
  (HISTORY)(report);
  report({ kind: 'hello' });
})();
