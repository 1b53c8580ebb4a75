// The recorder bar: action count, field for the next subgoal, Finish. It lives in a closed shadow root at the end of the
// document element, in the top document only. Scripts of the page never receive its events.
(recorder, report) => {
  const SHEET = `
    :host { all: initial !important; position: fixed !important; inset: auto !important; z-index: 2147483647 !important;
      display: block !important; bottom: 12px !important; right: 12px !important; max-width: calc(100vw - 24px) !important;
      pointer-events: none !important; }
    :host([data-side=left]) { right: auto !important; left: 12px !important; }
    .bar { --paper: #fff; --ink: #1b1f24; --soft: #57606a; --line: #c8ced6; --field: #f6f8fa; --strong: #0b57d0;
      pointer-events: auto; display: flex; flex-wrap: wrap; align-items: center; gap: 6px; box-sizing: border-box;
      max-width: 100%; padding: 6px 8px; border: 1px solid var(--line); border-radius: 10px; background: var(--paper);
      color: var(--ink); font: 13px/20px system-ui, "Liberation Sans", sans-serif; box-shadow: 0 2px 10px #0003; }
    .state { display: flex; align-items: center; gap: 6px; white-space: nowrap; min-width: 0; flex: 0 1 auto; }
    .dot { width: 9px; height: 9px; border-radius: 50%; background: #d1242f; flex: none; }
    .goal { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--soft); max-width: 180px; }
    input, button { font: inherit; box-sizing: border-box; height: 28px; border-radius: 6px; margin: 0; }
    input { flex: 1 1 130px; min-width: 90px; width: 150px; padding: 0 8px; border: 1px solid var(--line);
      background: var(--field); color: var(--ink); }
    input::placeholder { color: var(--soft); opacity: 1; }
    input:focus-visible, button:focus-visible { outline: 2px solid var(--strong); outline-offset: 1px; }
    button { padding: 0 10px; border: 1px solid var(--line); background: var(--field); color: var(--ink);
      cursor: pointer; white-space: nowrap; flex: none; }
    button:hover { border-color: var(--soft); }
    button.end { background: var(--strong); border-color: var(--strong); color: #fff; }
    button.side { padding: 0; width: 28px; }
    @media (prefers-color-scheme: dark) {
      .bar { --paper: #1f242b; --ink: #e9edf2; --soft: #a5b0bd; --line: #4a535f; --field: #2b323b; --strong: #a8c7fa;
        box-shadow: 0 2px 10px #000a; }
      button.end { color: #062e6f; }
      .dot { background: #ff7b72; }
    }
    @media (max-width: 480px) {
      :host, :host([data-side=left]) { left: 8px !important; right: 8px !important; bottom: 8px !important;
        max-width: none !important; }
      .state { flex: 1 1 auto; }
      .goal { max-width: none; flex: 1 1 0; }
      input { order: 1; }
      button.new { order: 2; }
      button.end { order: 3; }
      button.side { display: none; }
    }
    @media print { .bar { display: none; } }`;
  const { attachShadow } = Element.prototype;
  const make = (tag, properties, ...inside) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...inside);
    return made;
  };
  const host = document.createElement('eikon-recorder');
  const root = Reflect.apply(attachShadow, host, [{ mode: 'closed' }]);
  const addStyles = () => {
    if (root.adoptedStyleSheets.length) return;
    const sheet = new CSSStyleSheet(); // not subject to the page's CSP for inline styles
    sheet.replaceSync(SHEET);
    root.adoptedStyleSheets = [sheet];
  };
  const count = make('span', { textContent: '0 actions' });
  const goal = make('span', { className: 'goal' });
  const field = make('input', { type: 'text', placeholder: 'Next subgoal', maxLength: 200, autocomplete: 'off' });
  field.setAttribute('aria-label', 'Description of the next subgoal');
  const side = make('button', { className: 'side', type: 'button', textContent: '\u2194', title: 'Move to the other side' });
  side.setAttribute('aria-label', 'Move the recorder to the other side');
  const bar = make('div', { className: 'bar' },
    make('span', { className: 'state' }, make('span', { className: 'dot' }), count, goal),
    field,
    make('button', { className: 'new', type: 'button', textContent: 'New subgoal', title: 'Ctrl+Shift+F8' }),
    make('button', { className: 'end', type: 'button', textContent: 'Finish', title: 'Ctrl+Shift+F9' }),
    side);
  bar.setAttribute('role', 'region');
  bar.setAttribute('aria-label', 'Recorder');
  root.append(bar);

  const beginSubgoal = () => {
    const text = field.value.trim();
    if (!text) { field.focus(); return; }
    field.value = '';
    field.blur();
    report({ kind: 'subgoal', text });
  };
  const press = place => {
    const button = place?.closest('button');
    if (!button) return;
    if (button.className === 'new') beginSubgoal();
    else if (button.className === 'end') report({ kind: 'finish' });
    else host.dataset.side = host.dataset.side === 'left' ? '' : 'left';
  };
  const attach = () => {
    const place = document.documentElement;
    if (place && host.parentNode !== place) place.append(host);
    addStyles(); // the first document of a popup is replaced, and style sheets do not survive that
  };

  recorder.attachBar = attach;
  recorder.isBar = node => node === host;
  recorder.show = (actions, subgoal) => {
    count.textContent = actions === 1 ? '1 action' : `${actions} actions`;
    goal.textContent = subgoal;
    goal.title = subgoal;
  };
  recorder.askForSubgoal = () => { attach(); field.focus(); };
  // Stop events of the bar here; their default actions (text input, focus) still happen.
  recorder.takeBarEvent = event => {
    event.stopImmediatePropagation();
    if (!event.isTrusted) return;
    if (event.type === 'click') press(event.detail ? root.elementFromPoint(event.clientX, event.clientY) : root.activeElement);
    else if (event.type === 'keydown' && event.key === 'Enter' && root.activeElement === field && !event.isComposing) beginSubgoal();
    else if (event.type === 'keydown' && event.key === 'Escape') root.activeElement?.blur();
  };
}
