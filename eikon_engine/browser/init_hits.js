// Runs in every document of a watched context before its own scripts: remembers what an action hit, as it was before the
// page heard of it, for calls whose element was not there when they began. Nothing is remembered for other calls.
(() => {
  const own = window.__eikon__;
  if (own.seek) return;
  const HEARD = ['pointerdown', 'keydown', 'beforeinput', 'input', 'change', 'click'];
  const UNTRUSTED = ['input', 'change']; // Playwright itself raises these, where it chooses options or sets a date
  const WANTED = { visible: true, enabled: true, editable: false, pointer: false, position: null };
  const WHOLE = 'button, [role=button], a, [role=link]';
  const born = performance.timeOrigin;
  // The identities of what was hit since the call began, and what each of its targets was when it was last seen unhit.
  let hits = new WeakMap(), met = {};
  // A document that came after the call began has not been asked anything: it remembers the first thing that is hit.
  let isSought = true, isAsked = false;

  // What Playwright lets stand for an element: the button or link around it, or the control of its label.
  const standIns = element =>
    [element, element.closest(WHOLE), element.closest('label')?.control].filter(each => each);
  const isHit = element => standIns(element).some(each => hits.has(each));
  const remember = event => {
    if (!isSought || !(event.isTrusted || UNTRUSTED.includes(event.type))) return;
    const path = event.composedPath().filter(node => node.nodeType === 1);
    const led = Object.values(met).filter(element => standIns(element).some(each => path.includes(each)));
    const fresh = [...new Set([...path, ...led])].filter(element => !hits.has(element));
    const identities = own.sight(fresh, { identities: true });
    fresh.forEach((element, place) => hits.set(element, identities[place]));
    isSought = isAsked;
  };
  for (const type of HEARD) window.addEventListener(type, remember, { capture: true, passive: true });

  // Sees what a target is now. Beside that: the document; whether it was hit, and what it was before; and whether that
  // was hit which was seen the last time.
  own.seek = (elements, [name, isFirst]) => {
    if (isFirst) { hits = new WeakMap(); met = {}; isSought = false; }
    const seen = own.sight(elements, WANTED), [element] = elements, last = met[name];
    const was_hit = Boolean(element && isHit(element));
    const answer = {
      ...seen, document: born, was_hit, before: (was_hit && hits.get(element)) || null,
      was_last_hit: Boolean(last && isHit(last)),
    };
    if (element && !was_hit) met[name] = element;
    isAsked = true;
    isSought ||= seen.count !== 1 || Boolean(seen.obstacle);
    return answer;
  };
})();
