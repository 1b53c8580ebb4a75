// Init script: store what dom_snapshot.js needs before the page can hide or replace it. Adds one non-enumerable
// property to window, `__eikon__`, shared by all our init scripts.
(() => {
  "use strict";
  if (!Object.prototype.hasOwnProperty.call(window, "__eikon__")) {
    Object.defineProperty(window, "__eikon__", { value: {}, enumerable: false });
  }
  const shared = window.__eikon__;
  if (shared.shadowOf) return;

  const natives = Object.create(null);
  natives["Reflect.apply"] = Reflect.apply;
  natives["JSON.stringify"] = JSON.stringify;
  const observedMembers = {
    Node: "nodeType firstChild nextSibling namespaceURI",
    Element: "namespaceURI localName getAttribute getAttributeNames hasAttribute matches shadowRoot scrollLeft scrollTop "
      + "checkVisibility",
    CharacterData: "data",
    Document: "documentElement doctype title activeElement adoptedStyleSheets scrollingElement",
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

  // Elements that match a CSS selector; null where Playwright may disagree, because it pierces open shadow roots.
  shared.query = (selector) => {
    try {
      const found = document.querySelectorAll(selector);
      const isSimple = /^[\w#.-]+$/.test(selector); // matches without ancestors, so each root can be searched separately
      const matchesIn = (place) => Array.prototype.some.call(place.querySelectorAll("*"), (element) => {
        const inside = element.shadowRoot;
        return inside && (!isSimple || inside.querySelector(selector) || matchesIn(inside));
      });
      return matchesIn(document) ? null : Array.from(found);
    } catch {
      return null;
    }
  };
})();
