// Runs in every document before its own scripts: shows the recorded machine to pages. A page that starts a worker per
// processor requests as many scripts as it did then. Used in recording and replay alike.
(machine => {
  for (const [name, value] of Object.entries(machine)) {
    // Some properties exist in secure contexts only; absent ones stay absent.
    if (value === null || !(name in Navigator.prototype)) continue;
    if (Array.isArray(value)) Object.freeze(value);
    const { get } = Object.getOwnPropertyDescriptor({ get [name]() { return value; } }, name);
    Object.defineProperty(Navigator.prototype, name, { get, enumerable: true, configurable: true });
  }
})
