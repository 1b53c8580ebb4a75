// Init script: store what dom_snapshot.js needs before the page can hide or replace it.
(() => {
  "use strict";
  const shared = window.__eikon__;
  if (shared.shadowOf) return;
  const { Document, HTMLElement, ShadowRoot } = window;

  const natives = Object.create(null);
  natives["Reflect.apply"] = Reflect.apply;
  natives["JSON.stringify"] = JSON.stringify;
  const observedMembers = {
    Node: "nodeType firstChild nextSibling namespaceURI",
    Element: "namespaceURI localName getAttribute getAttributeNames hasAttribute matches shadowRoot scrollLeft scrollTop "
      + "checkVisibility",
    CharacterData: "data",
    Document: "documentElement doctype title activeElement adoptedStyleSheets scrollingElement hasFocus",
    ShadowRoot: "mode activeElement adoptedStyleSheets",
    HTMLInputElement: "type value checked indeterminate files",
    HTMLTextAreaElement: "value",
    HTMLSelectElement: "options",
    HTMLOptionElement: "selected value",
    HTMLTemplateElement: "content",
    HTMLDetailsElement: "open",
    HTMLDialogElement: "open",
    HTMLIFrameElement: "contentWindow",
    HTMLFrameElement: "contentWindow",
    HTMLObjectElement: "contentWindow",
    HTMLCanvasElement: "toDataURL width height",
    HTMLElement: "style",
    CSSStyleDeclaration: "length item getPropertyValue getPropertyPriority",
    CSSStyleSheet: "cssRules",
    CSSRule: "cssText",
    Array: "sort join push slice",
    String: "toWellFormed replace charCodeAt indexOf",
  };
  for (const owner of Object.keys(observedMembers)) {
    const place = window[owner] && window[owner].prototype;
    for (const name of observedMembers[owner].split(" ")) {
      const found = place && Object.getOwnPropertyDescriptor(place, name);
      if (found) natives[`${owner}.${name}`] = found.get || found.value;
    }
  }
  shared.natives = natives;

  const roots = new WeakMap();
  const { apply } = Reflect;
  const { get, set } = WeakMap.prototype;
  shared.shadowOf = (element) => apply(get, roots, [element]) || null;

  // A proxy keeps name, length and "[native code]", so the page sees the function it expects.
  const watch = (place, name, keep) => {
    const found = place && Object.getOwnPropertyDescriptor(place, name);
    if (!found || typeof found.value !== "function") return;
    const value = new Proxy(found.value, {
      apply(native, self, args) {
        const result = apply(native, self, args);
        keep(self, result);
        return result;
      },
    });
    Object.defineProperty(place, name, { ...found, value });
  };
  watch(Element.prototype, "attachShadow", (host, root) => apply(set, roots, [host, root]));
  // A closed declarative root is only known to the element's internals.
  const internalsRoot = window.ElementInternals
    && Object.getOwnPropertyDescriptor(ElementInternals.prototype, "shadowRoot");
  if (internalsRoot) {
    watch(HTMLElement.prototype, "attachInternals", (host, internals) => {
      const root = apply(internalsRoot.get, internals, []);
      if (root) apply(set, roots, [host, root]);
    });
  }

  const openRoots = (place) => [
    place,
    ...Array.from(shared.queryAll(place, "*")).flatMap(({ shadowRoot }) => (shadowRoot ? openRoots(shadowRoot) : [])),
  ];
  const hasAncestors = (element, compounds) => {
    const rest = [...compounds];
    for (let node = element; rest.length && (node = node.parentNode ?? node.host);) {
      if (node.nodeType === 1 && node.matches(rest.at(-1))) rest.pop();
    }
    return !rest.length;
  };
  const isCompound = (text) => /^(?:[#.]?[\w-]+|\[[\w-]+(?:[~|^$*]?="[^"\\]*")?\])+$/.test(text);

  // Elements that match a CSS selector; null where Playwright may disagree, because it pierces open shadow roots. There,
  // only compound selectors and their ancestors are evaluated, and only a single match, as the order is another one.
  shared.query = shared.guard((selector) => {
    try {
      const found = Array.from(shared.queryAll(document, selector)), roots = openRoots(document);
      if (roots.length === 1) return found;
      const compounds = selector.match(/(?:\[[^\]]*\]|[^\s[\]])+/g);
      if (!compounds.every(isCompound)) return null;
      const last = compounds.pop();
      const all = roots.flatMap((root) => Array.from(shared.queryAll(root, last)))
        .filter((element) => hasAncestors(element, compounds));
      return all.length > 1 ? null : all;
    } catch {
      return null;
    }
  });

  // Elements that match a CSS selector in the innermost of a path of frames, with its shared object, and the frames from
  // the outside; null if Playwright must look: a frame is not unique, or out of reach.
  shared.find = shared.guard((frames, selector) => {
    const owners = [];
    let own = shared;
    try {
      for (const each of frames) {
        const found = own.query(each);
        if (found?.length !== 1) return null;
        owners.push(found[0]);
        own = found[0].contentWindow.__eikon__;
      }
      const elements = own.query(selector);
      return elements && own.inspect ? { own, elements, owners } : null;
    } catch {
      return null;
    }
  });

  // Whether keys already go to an element: Playwright, whose code must be sent to each document first, would change
  // nothing before it presses one.
  shared.hasFocus = shared.guard((element) => {
    const root = element.getRootNode();
    const kind = root instanceof Document ? "Document" : root instanceof ShadowRoot ? "ShadowRoot" : "";
    return kind !== "" && element instanceof HTMLElement && apply(natives[`${kind}.activeElement`], root, []) === element
      && apply(natives["Document.hasFocus"], document, []);
  });
})();
