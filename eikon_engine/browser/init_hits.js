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
  // Since the call began: the identities of what was hit, as it was then, whether anything was, and each target as it
  // was found last before that.
  let hits = new WeakMap(), hasHits = false, met = {};
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
    hasHits ||= event.isTrusted; // those of a page's own scripts are no sign of an action
    isSought = isAsked;
  };
  for (const type of HEARD) window.addEventListener(type, remember, { capture: true, passive: true });

  // Sees what a target is now. Beside that: the document; whether this is what it was before anything was hit; whether
  // it was hit, or what was found before was; and what it was before it was hit.
  own.seek = (elements, [name, isFirst]) => {
    if (isFirst) { hits = new WeakMap(); hasHits = false; met = {}; isSought = false; }
    const seen = own.sight(elements, WANTED), [element] = elements;
    const isHitNow = Boolean(element && isHit(element));
    const is_early = !hasHits && !isHitNow;
    const was_hit = isHitNow || Boolean(met[name] && isHit(met[name]));
    const before = (isHitNow && hits.get(element)) || null;
    if (element && is_early) met[name] = element;
    isAsked = true;
    isSought ||= seen.count !== 1 || Boolean(seen.obstacle);
    return { ...seen, document: born, is_early, was_hit, before };
  };
})();
