// Runs in every document of a sealed replay. What a document sends while it goes away gets past every route, is in no
// recording, and has nobody left to read its answer: it is not sent.
(() => {
  let gone = false;
  window.addEventListener('pagehide', () => { gone = true; }, true);
  window.addEventListener('pageshow', () => { gone = false; }, true);
  if (window.fetch) {
    window.fetch = new Proxy(window.fetch, {
      apply: (native, self, values) => gone ? new Promise(() => {}) : Reflect.apply(native, self, values),
    });
  }
  if (window.Navigator?.prototype.sendBeacon) {
    Navigator.prototype.sendBeacon = new Proxy(Navigator.prototype.sendBeacon, {
      apply: (native, self, values) => gone || Reflect.apply(native, self, values),
    });
  }
})();
