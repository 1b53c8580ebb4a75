// Observes the main document of a page in one call, and the documents of its frames as far as it reaches them. The result
// has these parts, with a line `=` between them:
//
// 1. {"activity": see init_page_activity.js, "cookie_writes": number or null, "title": text, "storage": [origin, local,
//    session] with [key, value] for each item, "target": {"state": see inspect_elements.js}}. `activity` is zero unless
//    `handed.queries` is set. `target` is what `handed.target` matches, a selector in a path of frames; null without one, and if only Playwright
//    can evaluate it.
// 2. The lines of dom_snapshot.js, which gets `handed`.
// 3. Its lines for each of the frames in `handed.inner`, or `null` for one that is out of reach.
(handed, snapshot = window.__eikon__.snapshot) => {
  const own = window.__eikon__ ?? {};
  const natives = own.natives ?? {};
  const apply = natives["Reflect.apply"] ?? Reflect.apply;
  // Only texts are passed to it: a page may have given arrays and objects a `toJSON`.
  const quote = natives["JSON.stringify"] ?? JSON.stringify;
  const titleOf = natives["Document.title"] ?? Object.getOwnPropertyDescriptor(Document.prototype, "title").get;

  const items = (name) => {
    let json = "";
    try {
      for (const [key, value] of Object.entries(window[name])) {
        json += `${json && ","}[${quote(`${key}`)},${quote(`${value}`)}]`;
      }
    } catch {
      return "[]"; // a document without access to storage
    }
    return `[${json}]`;
  };
  // The shared objects of the document and all its frames; null if one is out of reach.
  const tree = own.tree?.();
  const documents = tree?.length === handed.documents ? tree : null;
  const cookieWrites = () => {
    if (!documents) return null;
    let writes = 0;
    for (const each of documents) writes += each.cookieWrites;
    return Number.isInteger(writes) ? writes : null;
  };
  const nextTimer = () => {
    if (!documents) return 0;
    let next = Infinity;
    for (const each of documents) next = Math.min(next, each.nextTimer());
    return next;
  };
  const target = () => {
    let state = null;
    try {
      const found = handed.target && own.find ? own.find(handed.target.frames, handed.target.selector) : null;
      if (!found) return null;
      ({ state } = found.own.inspect(found.elements, {}));
    } catch {
      return null; // a property that the page has replaced
    }
    if (!state) return '{"state":null}';
    const value = typeof state.value === "string" ? quote(state.value) : null;
    return `{"state":{"value":${value},"checked":${typeof state.checked === "boolean" ? state.checked : null}}}`;
  };
  // `path` has the index of a frame and the number of its siblings, with itself, for each level.
  const inside = ({ path, url, ...request }) => {
    try {
      let place = window;
      for (const [index, count] of path) {
        if (place.length !== count) return "null"; // some are in shadow trees, which a window does not list
        place = place[index];
      }
      return place.location.href === url ? place.__eikon__.snapshot(request) : "null";
    } catch {
      return "null"; // another origin, or removed
    }
  };
  const observe = ([loading, animating, pending, workers]) => {
    const storage = `[${quote(location.origin)},${items("localStorage")},${items("sessionStorage")}]`;
    const title = quote(apply(titleOf, document, []));
    let text = `{"activity":[${loading},${animating},${pending},${workers},${nextTimer()}],"cookie_writes":${cookieWrites()},`
      + `"title":${title},"storage":${storage},"target":${target()}}\n=\n${snapshot(handed)}`;
    for (const each of handed.inner) text += `\n=\n${inside(each)}`;
    return text;
  };

  if (!handed.queries) return observe([0, 0, 0, 0]);
  const activity = own.activity?.() ?? [document.readyState === "complete" ? 0 : 1, 0, 0, 0];
  return Array.isArray(activity) ? observe(activity) : activity.then(observe);
}
