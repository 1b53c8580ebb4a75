// Serializes one document without changing it: one line of JSON for it, then one for each node, in document order;
// docs/dom-snapshots.md describes them. `frames` are the elements of the child frames, in the order of the frame tree, or
// their number: then the result is `null` if the document has another number of them, or some in shadow trees. `addresses`
// are replaced in what is digested, by pattern and match. The result is stored under `token`; if the stored result has the
// token `since`, equal lines at both ends are only counted, and `data` is null if it is unchanged.
(handed) => {
  "use strict";
  const { frames, addresses, since, token } = handed;
  const shared = typeof window.__eikon__ === "object" && window.__eikon__ !== null ? window.__eikon__ : {};
  const natives = shared.natives || {};
  const apply = natives["Reflect.apply"] || Reflect.apply;
  const stringify = natives["JSON.stringify"] || JSON.stringify;
  const NONE = [];

  // Getters are taken from prototypes: <form><input name="firstChild"> hides the property of the form.
  const find = (owner, name) => {
    const kept = natives[`${owner}.${name}`];
    if (kept) return kept;
    const place = window[owner] && window[owner].prototype;
    const found = place && Object.getOwnPropertyDescriptor(place, name);
    return found ? found.get || found.value : undefined;
  };
  const getter = (owner, name) => {
    const native = find(owner, name);
    return native ? (self) => apply(native, self, NONE) : () => undefined;
  };
  const method = (owner, name) => {
    const native = find(owner, name);
    return (self, argument) => apply(native, self, [argument]);
  };

  const nodeType = getter("Node", "nodeType");
  const firstChild = getter("Node", "firstChild");
  const nextSibling = getter("Node", "nextSibling");
  const data = getter("CharacterData", "data");
  const namespaceOf = getter("Element", "namespaceURI");
  const localName = getter("Element", "localName");
  const attributeNames = getter("Element", "getAttributeNames");
  const attribute = method("Element", "getAttribute");
  const hasAttribute = method("Element", "hasAttribute");
  const matches = method("Element", "matches");
  const openRoot = getter("Element", "shadowRoot");
  const scrollLeft = getter("Element", "scrollLeft");
  const scrollTop = getter("Element", "scrollTop");
  const VISIBLY = { visibilityProperty: true };
  const visibleNative = find("Element", "checkVisibility");
  const isVisible = (element) => apply(visibleNative, element, [VISIBLY]);
  const inputType = getter("HTMLInputElement", "type");
  const inputValue = getter("HTMLInputElement", "value");
  const charCode = method("String", "charCodeAt");
  const sortNative = find("Array", "sort");
  const sorted = (list, order) => apply(sortNative, list, order ? [order] : NONE);
  const joinNative = method("Array", "join");
  const pushNative = method("Array", "push");
  const sliceNative = find("Array", "slice");
  const replaceNative = find("String", "replace");
  const wellFormed = find("String", "toWellFormed") ? getter("String", "toWellFormed") : (text) => text;

  const quote = (text) => stringify(wellFormed(text));
  const quotedNames = new Map();
  const quoteName = (name) => {
    let quoted = quotedNames.get(name);
    if (quoted === undefined) quotedNames.set(name, (quoted = quote(name)));
    return quoted;
  };
  const array = (items) => `[${joinNative(items, ",")}]`;

  // Two 32-bit multiplicative hashes (cyrb53 mixing): 64 bits, the same in every browser.
  const mapped = addresses
    ? (text) => apply(replaceNative, text, [new RegExp(addresses.pattern, "g"), (found) => addresses.targets[found]])
    : (text) => text;
  const digest = (unmapped) => {
    const text = mapped(unmapped);
    let left = 0xdeadbeef;
    let right = 0x41c6ce57;
    for (let index = 0; index < text.length; index += 1) {
      const code = charCode(text, index);
      left = Math.imul(left ^ code, 2654435761);
      right = Math.imul(right ^ code, 1597334677);
    }
    left = Math.imul(left ^ (left >>> 16), 2246822507) ^ Math.imul(right ^ (right >>> 13), 3266489909);
    right = Math.imul(right ^ (right >>> 16), 2246822507) ^ Math.imul(left ^ (left >>> 13), 3266489909);
    const hex = (number) => `0000000${(number >>> 0).toString(16)}`.slice(-8);
    return hex(right) + hex(left);
  };

  const NAMESPACES = {
    "http://www.w3.org/1999/xhtml": "",
    "http://www.w3.org/2000/svg": "svg",
    "http://www.w3.org/1998/Math/MathML": "mathml",
  };
  const words = (text) => new Set(text.split(" "));
  const VERBATIM = words("pre listing xmp plaintext style");
  const CHILDLESS = words("script textarea iframe frame");
  const INLINE = words(
    "a abbr b bdi bdo button cite code data del dfn em i img input ins kbd label mark meter output progress q s samp "
    + "select small span strong sub sup svg time u var"
  );
  // Types whose `value` is the attribute itself; all others have a separate value.
  const ATTRIBUTE_VALUE = words("hidden submit image reset button checkbox radio");
  const SECRET = /(^|\s)(current|new)-password(\s|$)/i;
  // Types of scripts that are JSON: data, which no browser runs.
  const JSON_TYPE = /^\s*(application\/json|text\/json|[^\s;/]+\/[^\s;/]+\+json)\s*(;|$)/i;
  // Longest data block that is stored, and the total per document, in UTF-16 code units.
  const BLOCK_LIMIT = 262144;
  const DATA_LIMIT = 1048576;
  const BLANKS = /[ \t\n\f\r]+/g;

  const sheetDigest = (sheet) => {
    try {
      const rules = getter("CSSStyleSheet", "cssRules")(sheet);
      const texts = [];
      for (let index = 0; index < rules.length; index += 1) pushNative(texts, getter("CSSRule", "cssText")(rules[index]));
      return digest(joinNative(texts, "\n"));
    } catch (error) {
      return "unreadable";
    }
  };
  const addSheets = (state, name, sheets) => {
    const digests = [];
    for (let index = 0; sheets && index < sheets.length; index += 1) {
      if (shared.ownSheets && shared.ownSheets.has(sheets[index])) continue;
      pushNative(digests, quote(sheetDigest(sheets[index])));
    }
    if (digests.length) state[name] = array(digests);
  };

  const scriptText = (element) => {
    let text = "";
    for (let node = firstChild(element); node; node = nextSibling(node)) {
      if (nodeType(node) === 3 || nodeType(node) === 4) text += data(node);
    }
    return text;
  };
  const inputState = (element, state, hidden) => {
    const type = inputType(element);
    if (type === "checkbox" || type === "radio") {
      hidden.add("checked");
      state.checked = String(getter("HTMLInputElement", "checked")(element));
      if (getter("HTMLInputElement", "indeterminate")(element)) state.indeterminate = "true";
    }
    if (ATTRIBUTE_VALUE.has(type)) return;
    hidden.add("value");
    if (type === "file") {
      const names = [];
      const files = getter("HTMLInputElement", "files")(element) || NONE;
      for (let index = 0; index < files.length; index += 1) pushNative(names, quote(files[index].name));
      state.files = array(names);
    } else if (type === "password" || SECRET.test(attribute(element, "autocomplete") || "")) {
      state.filled = String(inputValue(element) !== "");
      state.masked = "true";
      state.value = '""';
    } else {
      state.value = quote(inputValue(element));
    }
  };
  const selectState = (element, state) => {
    const options = getter("HTMLSelectElement", "options")(element);
    const selected = [];
    const values = [];
    for (let index = 0; index < options.length; index += 1) {
      if (!getter("HTMLOptionElement", "selected")(options[index])) continue;
      pushNative(selected, `"${index}"`);
      pushNative(values, quote(getter("HTMLOptionElement", "value")(options[index])));
    }
    state.selected = array(selected);
    state.value = array(values);
  };
  // Fill `state` (name -> JSON) and `hidden` (attributes that the state replaces).
  const STATES = {
    input: inputState,
    select: selectState,
    textarea: (element, state) => { state.value = quote(getter("HTMLTextAreaElement", "value")(element)); },
    option: (element, state, hidden) => { hidden.add("selected"); },
    script: (element, state) => { state.script = quote(digest(scriptText(element))); },
    details: (element, state, hidden) => {
      hidden.add("open");
      state.open = String(getter("HTMLDetailsElement", "open")(element));
    },
    dialog: (element, state, hidden) => {
      hidden.add("open");
      state.open = String(getter("HTMLDialogElement", "open")(element));
      if (matches(element, ":modal")) state.modal = "true";
    },
  };

  const out = [];
  const scroll = [];
  const canvas = [];
  const blocks = [];
  let kept = 0;
  // Elements that are hidden though their parent is not, or vice versa.
  const flips = [];
  const frameNodes = [];
  const focused = new Set();
  // Querying the offsets of each element would take half as long as everything else.
  const scroller = getter("Document", "scrollingElement")(document);
  const childFrames = new Map();
  const counted = typeof frames === "number";
  if (counted && window.length !== frames) return "null";
  // A window lists its child frames in the order in which they were made, which is that of the frame tree.
  for (let index = 0; index < (counted ? frames : frames.length); index += 1) {
    childFrames.set(counted ? window[index] : frames[index], index);
  }
  const FRAME_WINDOWS = {
    iframe: getter("HTMLIFrameElement", "contentWindow"),
    frame: getter("HTMLFrameElement", "contentWindow"),
    object: getter("HTMLObjectElement", "contentWindow"),
  };
  const noteFrame = (element, tag, slot) => {
    if (counted && !FRAME_WINDOWS[tag]) return;
    const place = childFrames.get(counted ? FRAME_WINDOWS[tag](element) : element);
    if (place !== undefined) pushNative(frameNodes, `[${slot},${place}]`);
  };

  const rootOf = (element) => openRoot(element) || (shared.shadowOf ? shared.shadowOf(element) : null);
  const noteBlock = (element, slot) => {
    const text = scriptText(element);
    const fits = text.length <= BLOCK_LIMIT && kept + text.length <= DATA_LIMIT;
    if (fits) kept += text.length;
    pushNative(blocks, `[${slot},${fits ? quote(text) : text.length}]`);
  };
  const noteExtras = (element, tag, slot) => {
    if (element === scroller && (scrollLeft(element) || scrollTop(element))) {
      pushNative(scroll, `[${slot},${scrollLeft(element)},${scrollTop(element)}]`);
    }
    if (childFrames.size) noteFrame(element, tag, slot);
    if (tag === "script" && JSON_TYPE.test(attribute(element, "type") || "")) noteBlock(element, slot);
    if (tag !== "canvas") return;
    let seen = "unreadable";
    try {
      const area = getter("HTMLCanvasElement", "width")(element) * getter("HTMLCanvasElement", "height")(element);
      seen = area > 4194304 ? "too-large" : digest(getter("HTMLCanvasElement", "toDataURL")(element));
    } catch (error) {
      seen = "unreadable";
    }
    pushNative(canvas, `[${slot},${quote(seen)}]`);
  };

  // The browser draws the UUID of each `URL.createObjectURL`: here, they are numbered in the order of appearance.
  const BLOB = /(blob:(?:[a-z-]+:\/\/[^\s"'()\/]*|null)\/)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/g;
  const indexOf = method("String", "indexOf");
  const blobNumbers = new Map();
  const numberBlob = (found, site, uuid) => {
    if (!blobNumbers.has(uuid)) blobNumbers.set(uuid, blobNumbers.size + 1);
    return site + blobNumbers.get(uuid);
  };
  // A copy of a computed style has its custom properties in an order that differs from process to process and means
  // nothing: here, they come last, sorted by name. Few of them are no copy, and stay as they are.
  const COPIED = 8;
  const styleOf = getter("HTMLElement", "style");
  const styleLength = getter("CSSStyleDeclaration", "length");
  const styleName = method("CSSStyleDeclaration", "item");
  const styleValue = method("CSSStyleDeclaration", "getPropertyValue");
  const stylePriority = method("CSSStyleDeclaration", "getPropertyPriority");
  const orderedStyle = (element, text) => {
    const style = styleOf(element), own = [], others = [];
    for (let index = 0; index < styleLength(style); index += 1) {
      const name = styleName(style, index), priority = stylePriority(style, name);
      const declaration = `${name}: ${styleValue(style, name)}${priority && " !important"};`;
      pushNative(indexOf(name, "--") === 0 ? own : others, declaration);
    }
    if (own.length < COPIED) return text;
    sorted(own);
    return others.length ? `${joinNative(others, " ")} ${joinNative(own, " ")}` : joinNative(own, " ");
  };
  const attributeValue = (element, name, html) => {
    let value = attribute(element, name) || "";
    if (html && name === "style" && indexOf(value, "--") >= 0) value = orderedStyle(element, value);
    return indexOf(value, "blob:") < 0 ? value : apply(replaceNative, value, [BLOB, numberBlob]);
  };

  const NOTHING_HIDDEN = new Set();
  const attributesJson = (element, names, hidden, html) => {
    if (names.length === 0) return "[]";
    let json = "[";
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index];
      if (hidden.has(name)) continue;
      json += `${json.length > 1 ? "," : ""}${quoteName(name)},${quote(attributeValue(element, name, html))}`;
    }
    return `${json}]`;
  };
  const stateJson = (state) => {
    const names = sorted(Object.keys(state));
    let json = "[";
    for (let index = 0; index < names.length; index += 1) {
      json += `${index ? "," : ""}"${names[index]}",${state[names[index]]}`;
    }
    return `${json}]`;
  };

  const enter = (element, tag, verbatim, isRoot, shown) => {
    const space = namespaceOf(element);
    const known = NAMESPACES[space];
    const html = known === "";
    const names = attributeNames(element);
    if (names.length > 1) sorted(names);
    let state = null;
    let hidden = NOTHING_HIDDEN;
    if ((html || tag === "script") && Object.prototype.hasOwnProperty.call(STATES, tag)) {
      state = {};
      hidden = new Set();
      STATES[tag](element, state, hidden);
    }
    if (focused.has(element)) (state = state || {}).focus = "true";
    if (names.length && html && hasAttribute(element, "popover") && matches(element, ":popover-open")) {
      (state = state || {}).popover = "true";
    }
    const root = rootOf(element);
    let mode = "";
    if (root) {
      mode = getter("ShadowRoot", "mode")(root);
      focused.add(getter("ShadowRoot", "activeElement")(root));
      addSheets((state = state || {}), "shadow_sheets", getter("ShadowRoot", "adoptedStyleSheets")(root));
    }
    if (isRoot) addSheets((state = state || {}), "sheets", getter("Document", "adoptedStyleSheets")(document));
    const slot = out.length;
    pushNative(out, "");
    noteExtras(element, html ? tag : "", slot);
    const visible = isVisible(element);
    if (visible !== shown) pushNative(flips, String(slot));
    const skip = tag === "script" || (html && CHILDLESS.has(tag));
    const content = html && tag === "template" ? getter("HTMLTemplateElement", "content")(element) : null;
    const light = skip ? null : firstChild(content || element);
    return {
      slot,
      head: `[${quoteName(tag)},${quoteName(known === undefined ? space || "none" : known)},`
        + `${attributesJson(element, names, hidden, html)},${state ? stateJson(state) : "[]"},`,
      mode,
      light,
      shadowCount: 0,
      count: 0,
      inShadow: root !== null && root !== undefined,
      node: root ? firstChild(root) : light,
      text: "",
      afterInline: false,
      visible,
      verbatim: verbatim || (html && VERBATIM.has(tag)),
    };
  };

  // White space alone is kept (as one blank) only where it separates two words on screen.
  const flush = (level, beforeInline) => {
    if (level.text === "") return;
    let json = "";
    if (level.verbatim) {
      json = `[${quote(level.text)}]`;
    } else {
      const text = apply(replaceNative, level.text, [BLANKS, " "]);
      if (text !== " " || (level.afterInline && beforeInline)) json = quote(text);
    }
    level.text = "";
    if (json === "") return;
    pushNative(out, json);
    level.count += 1;
  };
  const leave = (level) => {
    out[level.slot] = `${level.head}${level.count},"${level.mode}",${level.shadowCount}]`;
  };

  const walk = (root) => {
    const outer = [];
    let level = enter(root, localName(root), false, true, true);
    while (level) {
      const { node } = level;
      if (!node) {
        flush(level, false);
        if (level.inShadow) {
          level.inShadow = false;
          level.shadowCount = level.count;
          level.count = 0;
          level.afterInline = false;
          level.node = level.light;
        } else {
          leave(level);
          level = outer.length ? outer[outer.length - 1] : null;
          if (outer.length) outer.length -= 1;
        }
        continue;
      }
      level.node = nextSibling(node);
      const type = nodeType(node);
      if (type === 3 || type === 4) level.text += data(node);
      if (type !== 1 || hasAttribute(node, "data-eikon-own")) continue;
      const tag = localName(node);
      const inline = INLINE.has(tag);
      flush(level, inline);
      level.afterInline = inline;
      level.count += 1;
      pushNative(outer, level);
      level = enter(node, tag, level.verbatim, false, level.visible);
    }
  };

  const root = getter("Document", "documentElement")(document);
  const active = getter("Document", "activeElement")(document);
  if (active && active !== root && localName(active) !== "body") focused.add(active);
  if (root) walk(root);
  else pushNative(out, '["#document","",[],[],0,"",0]');
  if (counted && frameNodes.length !== frames) return "null";
  const type = getter("Document", "doctype")(document);
  const ids = type ? [type.name, type.publicId, type.systemId] : [""];
  const doctype = ids[1] || ids[2] ? joinNative(ids, "|") : ids[0];
  const last = shared.handed && shared.handed.token === since ? shared.handed : { lines: [] };
  const json = array(blocks);
  shared.handed = { token, lines: out, json };
  const extras = `{"canvas":${array(canvas)},"data":${json === last.json ? "null" : json},"flips":${array(flips)},`
    + `"frames":${array(frameNodes)},"scroll":${array(scroll)}}`;
  const most = Math.min(out.length, last.lines.length);
  let start = 0;
  while (start < most && out[start] === last.lines[start]) start += 1;
  let end = 0;
  while (end < most - start && out[out.length - 1 - end] === last.lines[last.lines.length - 1 - end]) end += 1;
  const head = `{"doctype":${quote(doctype)},"extras":${extras},"same":[${start},${end}]}`;
  const lines = apply(sliceNative, out, [start, out.length - end]);
  return lines.length ? `${head}\n${joinNative(lines, "\n")}` : head;
}
