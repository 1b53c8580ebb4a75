// Runs in every document of an attached context before its own scripts: remembers what an action hit, in its state
// before the page handled the event, for calls whose element did not exist when they began.
(() => {
  const own = window.__eikon__, { guard } = own;
  if (own.probeTarget) return;
  const EVENTS = ['pointerdown', 'keydown', 'beforeinput', 'input', 'change', 'click', 'drop'];
  const UNTRUSTED = ['input', 'change']; // Playwright itself raises these, where it chooses options or sets a date
  const INSPECTION = { visible: true, enabled: true, editable: false, pointer: false, position: null };
  const WHOLE = 'button, [role=button], a, [role=link]';
  const documentTime = performance.timeOrigin;
  // Since the call began: identities of hit elements at that time, whether there are any, and the last known element of
  // each target before the first hit.
  let hits = new WeakMap(), hasHits = false, lastElements = {};
  // A document that loaded after the call began has not been queried yet: it remembers the first hit.
  let expectsHit = true, isProbed = false;
  // Identities of elements before the page handled that they got the focus: text is put in only after that.
  let focused = new WeakMap();
  // The innermost element of the first hit, with its identity at that time.
  let innermost = null;
  // A call acts right after its target was first probed, unless the page was busy, or the target not ready: then the first
  // trusted event is reported, which tells when it acted. What it hit later is remembered, as the page may have replaced the
  // probed element; not what it hit promptly, as what comes before that event, such as the focus, may have changed it.
  const PROMPT_HIT_MS = 30, REPORTED_DELAY_MS = 4;
  let probedAt = -Infinity, reportsHit = true;
  const { now } = Date;

  // Elements that Playwright accepts for a target: the button or link around it, or the control of its label.
  const acceptedElements = element =>
    [element, element.closest(WHOLE), element.closest('label')?.control].filter(each => each);
  const isHit = element => acceptedElements(element).some(each => hits.has(each));
  const remember = guard(event => {
    if (reportsHit && event.isTrusted) {
      reportsHit = false;
      const at = now();
      if (at > probedAt + REPORTED_DELAY_MS) own.report?.({ subject: 'hit', at });
      if (at > probedAt + PROMPT_HIT_MS) expectsHit = true;
    }
    if (!expectsHit || !(event.isTrusted || UNTRUSTED.includes(event.type))) return;
    const path = event.composedPath().filter(node => node.nodeType === 1);
    const led = Object.values(lastElements)
      .filter(element => acceptedElements(element).some(each => path.includes(each)));
    const fresh = [...new Set([...path, ...led])].filter(element => !hits.has(element));
    const identities = own.inspect(fresh, { identities: true });
    fresh.forEach((element, place) => hits.set(element, focused.get(element) ?? identities[place]));
    if (event.isTrusted && path.length) innermost ??= { element: path[0], identity: hits.get(path[0]) };
    hasHits ||= event.isTrusted; // events of page scripts do not indicate an action
    expectsHit = isProbed;
  });
  for (const type of EVENTS) window.addEventListener(type, remember, { capture: true, passive: true });
  window.addEventListener('focus', guard(({ isTrusted, target }) => {
    if (!isTrusted || hasHits || target.nodeType !== 1 || now() <= probedAt + PROMPT_HIT_MS) return;
    focused.set(target, own.inspect([target], { identities: true })[0]);
  }), { capture: true, passive: true });

  // Whether a page replaced what was hit, both before and after that, and what is found now looks as that did.
  const isReplaced = (identity, known) => innermost && identity && !innermost.element.isConnected && !known?.isConnected &&
    ['tag', 'role', 'name', 'text'].every(each => identity[each] === innermost.identity[each]);

  // Inspects a target. Also returns the document; whether it was inspected before the first hit; whether it, or the
  // element found earlier, was hit; and its identity before the hit. An element that the page has removed since it was
  // found is no match, unless the action hit it.
  own.probeTarget = guard((found, [name, isFirst]) => {
    if (isFirst) {
      hits = new WeakMap(); focused = new WeakMap(); lastElements = {}; innermost = null;
      hasHits = false; expectsHit = false; reportsHit = true;
    }
    const elements = found.filter(element => element.isConnected || isHit(element));
    const seen = own.inspect(elements, INSPECTION), [element] = elements;
    const isHitNow = Boolean(element && isHit(element));
    const is_early = !hasHits && !isHitNow;
    const was_hit = isHitNow || Boolean(lastElements[name] && isHit(lastElements[name]));
    const before = isHitNow ? hits.get(element) ?? null
      : element && hasHits && isReplaced(seen.identity, lastElements[name]) ? innermost.identity : null;
    if (element && is_early) lastElements[name] = element;
    const at = now(), isReady = seen.count === 1 && !seen.obstacle;
    isProbed = true;
    if (isFirst) probedAt = isReady ? at : -Infinity;
    expectsHit ||= !isReady;
    return { ...seen, at, document: documentTime, is_early, was_hit, before };
  });

  // Browsers hand input to a page before scripts that they were sent earlier, the more so while it is busy. So what lay under
  // the pointer when a button was pressed or released, or the wheel turned, is kept for the call that describes it later; with
  // its state before the page handled the event, once raw input was used.
  const POINTER_EVENTS = ['pointerdown', 'pointerup', 'wheel'], CLOCK_STEP_MS = 2, MAX_KEPT = 10;
  let pointed = [], usesRawInput = false;
  own.expectRawInput = () => { usesRawInput = true; };
  own.elementsAt = guard((x, y) => {
    let hit = document.elementFromPoint(x, y);
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit ? [hit] : [];
  });
  const keep = guard(({ type, isTrusted, clientX: x, clientY: y }) => {
    const elements = isTrusted ? own.elementsAt(x, y) : [];
    if (!elements.length) return;
    const seen = usesRawInput && type !== 'wheel' ? own.inspect(elements, INSPECTION) : null; // pages turn wheels often
    pointed = [...pointed, { type, at: now(), x, y, elements, seen }].slice(-MAX_KEPT);
  });
  for (const type of POINTER_EVENTS) window.addEventListener(type, keep, { capture: true, passive: true });
  const eventSince = (type, begun) => pointed.find(each => each.type === type && each.at > begun - CLOCK_STEP_MS);
  const describe = ({ elements, seen }) =>
    seen ?? own.inspect(elements.every(element => element.isConnected) ? elements : [], INSPECTION);
  // Describes what lay under the pointer at the first event of a call that began at a Unix time, with its place; null if
  // this document received none.
  own.describeEvent = guard((type, begun) => {
    usesRawInput = true;
    const event = eventSince(type, begun);
    return event ? { ...describe(event), place: [event.x, event.y] } : null;
  });
  // Describes what lay at a point then, or lies there now.
  own.describeAt = guard((x, y, type, begun) => {
    const event = eventSince(type, begun);
    usesRawInput = true;
    const isThere = event && Math.abs(event.x - x) < 1 && Math.abs(event.y - y) < 1;
    return isThere ? describe(event) : own.inspect(own.elementsAt(x, y), INSPECTION);
  });

  // Playwright resolves selectors in a world of its own, in which the selector engine of element_probe.py hands the matches
  // over to us: it raises an event on a target that `document.open` leaves alone, with a node that has the name of the
  // probe as its text, and in turn, when we ask, one on each match, or on that node for a match that the page has removed.
  const { Event } = window;
  const { parse } = JSON;
  const { get } = Object.getOwnPropertyDescriptor(Node.prototype, 'textContent');
  let matches = [];
  const take = guard(event => {
    event.stopImmediatePropagation();
    matches.push(event.relatedTarget ?? event.composedPath()[0]);
  });
  const { addEventListener } = EventTarget.prototype;
  const listen = place => Reflect.apply(addEventListener, place, ['eikon:match', take, true]);
  listen(window);
  performance.addEventListener('eikon:probe', guard(event => {
    const carrier = event.relatedTarget;
    matches = [];
    listen(window);
    listen(carrier);
    carrier.dispatchEvent(new Event('eikon:ask'));
    const [probe, ...target] = parse(Reflect.apply(get, carrier, []));
    try {
      own.report({ subject: 'target', probe, seen: own.probeTarget(matches, target) });
      event.preventDefault();
    } catch {} // what it matched is no element
  }));
})();
