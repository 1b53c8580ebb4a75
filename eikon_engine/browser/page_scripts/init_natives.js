// Runs before all other init scripts: keeps the natives that they use, as a page may replace them. Creates
// `window.__eikon__`, shared by our init scripts, which a page can neither delete nor freeze, and whose functions it
// cannot replace.
(() => {
  if (window.__eikon__) return; // the first document of a popup shares its window with the next one
  const { create, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
  const { apply, deleteProperty, ownKeys } = Reflect;
  const { parse, stringify } = JSON, { Promise } = window, { then } = Promise.prototype;

  const own = new Proxy(create(null), {
    __proto__: null,
    defineProperty: (all, key, { value }) => {
      if (!(key in all) || (typeof all[key] !== 'function' && typeof value !== 'function')) all[key] = value;
      return true;
    },
    deleteProperty: () => true,
    preventExtensions: () => false,
    setPrototypeOf: () => true,
  });
  defineProperty(window, '__eikon__', { value: own });

  // Playwright's own code in the page evaluates ours with `eval`. With another one, a page could answer in our place, or
  // hide something while we look; so it keeps its own, and what a page assigns has no effect.
  const { eval: evaluate } = window;
  defineProperty(window, 'eval', { configurable: false, get: () => evaluate, set: () => {} });

  const kept = [];
  const keep = (name, place, keys) => {
    for (const key of place ? keys : []) {
      const found = getOwnPropertyDescriptor(place, key), label = `${name}${String(key)}`;
      if (found?.configurable || found?.writable) kept.push({ place, key, label, found: setPrototypeOf(found, null) });
    }
  };
  const globals = 'Array Boolean Error Function JSON Map Math Number Object Promise Proxy Reflect RegExp Set String Symbol '
    + 'TypeError WeakMap WeakRef WeakSet';
  // Of these, init scripts replace members themselves, or they have what was matched last.
  const chosen = { Function: 'apply bind call', Math: 'imul max min round', RegExp: 'prototype' };
  keep('', window, `${globals} getComputedStyle isNaN parseFloat reportError`.split(' '));
  for (const name of globals.split(' ')) {
    const { prototype } = window[name], some = chosen[name]?.split(' ');
    keep(`${name}.`, window[name], some ?? ownKeys(window[name]));
    if (prototype) keep(`${name}.prototype.`, prototype, name === 'Function' ? some : ownKeys(prototype));
  }
  // What these have not, a page must not add.
  for (const { name, prototype } of [Array, Boolean, Number, String]) {
    for (const key of ['then', 'toJSON']) kept.push({ place: prototype, key, label: `${name}.prototype.${key}` });
  }
  for (const list of [[], new Map(), new Set(), '', 'x'.matchAll(/x/g)]) {
    for (let place = getPrototypeOf(list[Symbol.iterator]()); place !== Object.prototype; place = getPrototypeOf(place)) {
      keep('an iterator: ', place, ['next', Symbol.iterator]);
    }
  }
  const members = {
    Node: 'childNodes firstChild getRootNode isConnected nextSibling nodeType ownerDocument parentNode textContent',
    Element: 'checkVisibility clientLeft clientTop closest getAttribute getAttributeNames getBoundingClientRect '
      + 'getClientRects hasAttribute id localName matches namespaceURI outerHTML querySelector querySelectorAll '
      + 'scrollIntoViewIfNeeded scrollLeft scrollTop shadowRoot tagName',
    HTMLElement: 'innerText isContentEditable offsetHeight offsetWidth style',
    Document: 'activeElement createRange documentElement elementFromPoint getAnimations getElementById '
      + 'getElementsByTagName querySelectorAll readyState scrollingElement timeline',
    DocumentFragment: 'getElementById querySelector querySelectorAll',
    ShadowRoot: 'activeElement elementFromPoint getAnimations host',
    Range: 'getClientRects selectNodeContents',
    Event: 'composedPath preventDefault stopImmediatePropagation',
    EventTarget: 'addEventListener dispatchEvent',
    CSSStyleDeclaration: 'display',
    HTMLInputElement: 'checked labels readOnly type value',
    HTMLSelectElement: 'labels multiple selectedIndex selectedOptions size type value',
    HTMLTextAreaElement: 'labels readOnly type value',
    HTMLOptionElement: 'value',
    HTMLLabelElement: 'control',
    DOMRectReadOnly: 'bottom height left right top width x y',
    Animation: 'currentTime effect finish pause play playState playbackRate timeline',
    AnimationEffect: 'getComputedTiming',
  };
  for (const name of ownKeys(members)) keep(`${name}.prototype.`, window[name]?.prototype, members[name].split(' '));

  // Puts natives back where the page has others, and removes what it added to all objects. Returns what to undo, as a
  // linked list: nothing here may use what a page can replace.
  const restore = (undo, place, key, now, found, label) => {
    try {
      if (found) defineProperty(place, key, found);
      else deleteProperty(place, key);
      return { __proto__: null, undo, place, key, now };
    } catch {
      own.replaced = label;
      return undo; // it is not configurable
    }
  };
  const everything = Object.prototype, { length: ordinary } = ownKeys(everything);
  const isOrdinary = create(null);
  for (const key of ownKeys(everything)) isOrdinary[key] = true;
  const enter = () => {
    let undo = null;
    const keys = ownKeys(everything);
    for (let index = 0; index < keys.length && keys.length !== ordinary; index += 1) {
      const key = keys[index];
      if (isOrdinary[key]) continue;
      const now = getOwnPropertyDescriptor(everything, key);
      if (now.configurable) undo = restore(undo, everything, key, setPrototypeOf(now, null), null, 'Object.prototype');
    }
    for (let index = 0; index < kept.length; index += 1) {
      const { place, key, found, label } = kept[index];
      const now = getOwnPropertyDescriptor(place, key);
      if (!now && !found) continue;
      if (now && found && now.value === found.value && now.get === found.get && now.set === found.set) continue;
      undo = restore(undo, place, key, now && setPrototypeOf(now, null), found, label);
    }
    return undo;
  };
  const leave = (all) => {
    for (let undo = all; undo; undo = undo.undo) {
      if (undo.now) defineProperty(undo.place, undo.key, undo.now);
      else deleteProperty(undo.place, undo.key);
    }
  };

  let isInside = false, isReplaced = false, undo = null;
  const call = (isNative, called, self, values) => {
    if (isInside === isNative) return apply(called, self, values);
    const swap = () => {
      if (isInside) leave(undo);
      else undo = enter();
      isInside = !isInside;
      isReplaced ||= undo !== null;
    };
    swap();
    try {
      return apply(called, self, values);
    } finally {
      swap();
    }
  };
  const settled = (result) => {
    if (!(result instanceof Promise)) return result;
    defineProperty(result, 'then', { value: then });
    return defineProperty(result, 'constructor', { value: Promise });
  };
  // Returns a function that calls another one with the natives, and gives the page its own back before it returns. A
  // promise that it returns has members of its own, so that the page's are not used where it is awaited.
  own.guard = (called) => {
    const settles = (self, values) => settled(apply(called, self, values));
    return function guarded() { return call(true, settles, null, [this, arguments]); };
  };
  // As above, for what the page itself calls: only once it is known to have replaced something, and promises stay as they
  // are.
  own.guardHook = (called) => function guardedHook() {
    return isReplaced ? call(true, called, this, arguments) : apply(called, this, arguments);
  };
  // Returns a function for a guarded one to call: with what the page has.
  own.asPage = (called) => function ofPage() { return call(false, called, this, arguments); };

  // Reads a property of the document, or calls a method of it: <img name="querySelectorAll"> hides the document's own.
  const ofDocument = setPrototypeOf(Object.getOwnPropertyDescriptors(Document.prototype), null);
  own.ofDocument = own.guard((name, ...values) => {
    const { get, value } = ofDocument[name];
    return apply(get ?? value, document, values);
  });

  own.queryAll = (place, selector) =>
    (place === document ? own.ofDocument('querySelectorAll', selector) : place.querySelectorAll(selector));

  // Calls a function with a JSON value; returns what it returns, or resolves with it: "s" and a text, or "j" and JSON.
  const written = (value) => (typeof value === 'string' ? `s${value}` : `j${stringify(value ?? null)}`);
  own.call = own.guard((called, json) => {
    const result = called(parse(json));
    return result instanceof Promise ? result.then(own.guard(written)) : written(result);
  });
})();
