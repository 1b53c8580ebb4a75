// Runs in every document of a sealed replay, where nothing reaches the network.
(() => {
  // Requests of an unloading document bypass routes, are in no recording, and no script reads their responses: drop
  // them. The first document of a popup shares its window with the next one, which is not unloading.
  const own = window.__eikon__;
  own.isSealed = true;
  const again = 'gone' in own;
  own.gone = null;
  window.addEventListener('pagehide', event => { own.gone = event.target; }, true);
  window.addEventListener('pageshow', () => { own.gone = null; }, true);
  if (again) return;
  // Requests are routed without the fragments of their URLs, which redirects keep.
  window.navigation?.addEventListener('navigate', event => {
    if (!event.destination.sameDocument) own.destination = event.destination.url;
  });
  // Scripts may take `fetch` from a frame that they remove, and call it for their own window: that one counts.
  const isWindowGone = self => {
    const { __eikon__: its, document: shown } = self ?? window;
    return shown !== undefined && its?.gone === shown;
  };

  // Report requests that a timer sends while the driver moves the clock: when their routes are called, a response may have
  // been delivered, after which they would pass for its effect.
  const { debug } = console;
  const { controller } = window.__pwClock ?? {};
  let steps = 0;
  for (const name of ['runFor', 'fastForward']) {
    const move = controller?.[name];
    if (move) controller[name] = function (...values) {
      steps += 1;
      return Reflect.apply(move, this, values).finally(() => { steps -= 1; });
    };
  }
  const reportTimer = (method, url) => {
    if (!steps) return;
    try {
      const address = new URL(url, document.baseURI).href.split('#')[0];
      if (!address.startsWith('http')) return; // its route is never called
      debug.call(console, '\u0000eikon-timer:' + String(method).toUpperCase() + ' ' + address);
    } catch {} // no URL: the request fails
  };
  if (window.fetch) {
    window.fetch = new Proxy(window.fetch, {
      apply(native, self, values) {
        if (isWindowGone(self)) return new Promise(() => {});
        const [input, options] = values;
        const sent = Reflect.apply(native, self, values);
        reportTimer(options?.method ?? input?.method ?? 'GET', input?.url ?? input);
        return sent;
      },
    });
  }
  if (window.Navigator?.prototype.sendBeacon) {
    Navigator.prototype.sendBeacon = new Proxy(Navigator.prototype.sendBeacon, {
      apply: (native, self, values) => own.gone === document || Reflect.apply(native, self, values),
    });
  }

  // Served requests are never uploaded, so no upload event fires: dispatch them when the response begins.
  const sizeOf = body => {
    if (typeof body === 'string') return new TextEncoder().encode(body).length;
    return body?.size ?? body?.byteLength ?? String(body).length;
  };
  const uploads = new WeakMap();
  window.XMLHttpRequest = new Proxy(window.XMLHttpRequest, {
    construct(native, values, target) {
      const request = Reflect.construct(native, values, target);
      request.addEventListener('readystatechange', () => {
        const body = uploads.get(request);
        if (body === undefined || request.readyState !== 2) return;
        uploads.delete(request);
        const total = sizeOf(body), progress = { lengthComputable: true, loaded: total, total };
        for (const kind of ['progress', 'load', 'loadend']) request.upload.dispatchEvent(new ProgressEvent(kind, progress));
      });
      request.upload.addEventListener('load', () => uploads.delete(request));
      return request;
    },
  });
  const opened = new WeakMap();
  XMLHttpRequest.prototype.open = new Proxy(XMLHttpRequest.prototype.open, {
    apply(native, self, values) {
      const nothing = Reflect.apply(native, self, values);
      opened.set(self, values);
      return nothing;
    },
  });
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply(native, self, values) {
      if (values[0] !== undefined && values[0] !== null) uploads.set(self, values[0]);
      const nothing = Reflect.apply(native, self, values);
      if (opened.has(self)) reportTimer(...opened.get(self));
      return nothing;
    },
  });
})();
