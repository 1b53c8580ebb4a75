// Runs in every document of an attached context: does not list the names of Playwright's bindings, which the page would
// not have without us. In our own browser, recordings and replays have them alike.
(() => {
  for (const name of ['__playwright__binding__', '__playwright__binding__controller__']) {
    const found = Object.getOwnPropertyDescriptor(window, name);
    if (found?.configurable) Object.defineProperty(window, name, { ...found, enumerable: false });
  }
})();
