// Runs in every document after our other init scripts: `BINDING` is what tells the recorder, taken from the page's sight.
(() => {
  const own = window.__eikon__;
  const tell = window.BINDING;
  delete window.BINDING;
  for (const name of ['__playwright__binding__', '__playwright__binding__controller__']) {
    const found = Object.getOwnPropertyDescriptor(window, name);
    if (found?.configurable) Object.defineProperty(window, name, { ...found, enumerable: false });
  }
  if (!own?.sight || !tell || own.hand) return;
  const hand = own.hand = { isBar: () => false };
  const { stringify } = JSON;
  const told = message => { tell(stringify(message)).catch(() => {}); };
  (NAMING)(hand, own);
  if (window === window.top) {
    (OVERLAY)(hand, told);
    const attach = () => hand.attachBar();
    document.addEventListener('DOMContentLoaded', attach);
    window.addEventListener('load', attach);
    if (document.readyState !== 'loading') attach();
  }
  (EVENTS)(hand, own, told);
  (TRAVELS)(told);
  told({ kind: 'hello' });
})();
