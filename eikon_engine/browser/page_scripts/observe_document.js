// Observes the main document of a page in one call. Returns a line of JSON, then the lines of dom_snapshot.js, which gets
// `handed`: {"activity": see init_page_activity.js, "cookie_writes": number or null, "title": text, "storage": [origin,
// local, session]}, both with [key, value] for each item.
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
  // Of the document and all its frames; null if one is out of reach.
  const cookieWrites = () => {
    const documents = own.tree?.();
    if (!documents) return null;
    let writes = 0;
    for (const each of documents) writes += each.cookieWrites;
    return Number.isInteger(writes) ? writes : null;
  };
  const observe = ([loading, animating, pending, workers, timer]) => {
    const storage = `[${quote(location.origin)},${items("localStorage")},${items("sessionStorage")}]`;
    const title = quote(apply(titleOf, document, []));
    return `{"activity":[${loading},${animating},${pending},${workers},${timer}],"cookie_writes":${cookieWrites()},`
      + `"title":${title},"storage":${storage}}\n${snapshot(handed)}`;
  };

  const activity = own.activity?.() ?? [document.readyState === "complete" ? 0 : 1, 0, 0, 0, 0];
  return Array.isArray(activity) ? observe(activity) : activity.then(observe);
}
