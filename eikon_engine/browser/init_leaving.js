// Runs in every document of a sealed replay. What a document sends while it goes away gets past every route, is in no
// recording, and has nobody left to read its answer: it is not sent.
(() => {
  // The first document of a popup leaves its window to the next one, which is not gone.
  const own = window.__eikon__;
  const again = 'gone' in own;
  own.gone = null;
  window.addEventListener('pagehide', event => { own.gone = event.target; }, true);
  window.addEventListener('pageshow', () => { own.gone = null; }, true);
  if (again) return;
  if (window.fetch) {
    window.fetch = new Proxy(window.fetch, {
      apply: (native, self, values) => own.gone === document ? new Promise(() => {}) : Reflect.apply(native, self, values),
    });
  }
  if (window.Navigator?.prototype.sendBeacon) {
    Navigator.prototype.sendBeacon = new Proxy(Navigator.prototype.sendBeacon, {
      apply: (native, self, values) => own.gone === document || Reflect.apply(native, self, values),
    });
  }
})();
