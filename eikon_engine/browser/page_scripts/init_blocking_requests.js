// Runs in every document before its own scripts: reports requests that block the document to the driver.
(() => {
  if (!window.XMLHttpRequest || window.__eikon__.standstill) return;
  window.__eikon__.standstill = true;
  const { debug } = console;
  const asked = new WeakMap();
  const tell = (kind, request) => debug.call(console, '\u0000eikon-' + kind + ':' + asked.get(request));
  XMLHttpRequest.prototype.open = new Proxy(XMLHttpRequest.prototype.open, {
    apply(native, self, values) {
      const opened = Reflect.apply(native, self, values);
      asked.delete(self);
      if (values.length > 2 && !values[2]) {
        const method = /^(get|put|post|head|delete|options)$/i.test(values[0]) ? values[0].toUpperCase() : values[0];
        asked.set(self, method + ' ' + new URL(values[1], document.baseURI).href);
      }
      return opened;
    },
  });
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply(native, self, values) {
      if (!asked.has(self)) return Reflect.apply(native, self, values);
      tell('stands', self);
      try {
        return Reflect.apply(native, self, values);
      } finally {
        tell('goes-on', self);
      }
    },
  });
})();
