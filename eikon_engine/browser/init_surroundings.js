// Runs in every document before its own scripts: the machine as the recording knew it. A page that starts a worker for each
// processor asks for as many scripts as there were then. Part of recording and replay alike.
(told => {
  for (const [name, value] of Object.entries(told)) {
    // Some of it is told to secure origins only; where a page is told nothing, it stays so.
    if (value === null || !(name in Navigator.prototype)) continue;
    if (Array.isArray(value)) Object.freeze(value);
    const { get } = Object.getOwnPropertyDescriptor({ get [name]() { return value; } }, name);
    Object.defineProperty(Navigator.prototype, name, { get, enumerable: true, configurable: true });
  }
})
