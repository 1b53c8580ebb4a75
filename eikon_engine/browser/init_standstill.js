// Runs in every document before its own scripts: tells the driver of requests that the document stands still for.
(() => {
  if (!window.XMLHttpRequest || window.__eikon__.standstill) return;
  window.__eikon__.standstill = true;
  const { debug } = console;
  const addresses = new WeakMap();
  const tell = (kind, request) => debug.call(console, '\u0000eikon-' + kind + ':' + addresses.get(request));
  XMLHttpRequest.prototype.open = new Proxy(XMLHttpRequest.prototype.open, {
    apply(native, self, values) {
      const opened = Reflect.apply(native, self, values);
      addresses.delete(self);
      if (values.length > 2 && !values[2]) addresses.set(self, new URL(values[1], document.baseURI).href);
      return opened;
    },
  });
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply(native, self, values) {
      if (!addresses.has(self)) return Reflect.apply(native, self, values);
      tell('stands', self);
      try {
        return Reflect.apply(native, self, values);
      } finally {
        tell('goes-on', self);
      }
    },
  });
})();
