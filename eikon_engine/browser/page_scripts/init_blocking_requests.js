// Runs in every document before its own scripts: reports requests that block the document to the driver.
(() => {
  if (!window.XMLHttpRequest || window.__eikon__.reportsBlocking) return;
  window.__eikon__.reportsBlocking = true;
  const { debug } = console;
  const names = new WeakMap();
  const report = (kind, request) => debug.call(console, '\u0000eikon-' + kind + ':' + names.get(request));
  XMLHttpRequest.prototype.open = new Proxy(XMLHttpRequest.prototype.open, {
    apply(native, self, values) {
      const opened = Reflect.apply(native, self, values);
      names.delete(self);
      if (values.length > 2 && !values[2]) {
        const method = /^(get|put|post|head|delete|options)$/i.test(values[0]) ? values[0].toUpperCase() : values[0];
        names.set(self, method + ' ' + new URL(values[1], document.baseURI).href);
      }
      return opened;
    },
  });
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply(native, self, values) {
      if (!names.has(self)) return Reflect.apply(native, self, values);
      report('blocks', self);
      try {
        return Reflect.apply(native, self, values);
      } finally {
        report('resumes', self);
      }
    },
  });
})();
