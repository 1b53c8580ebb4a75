// Runs in every document of an attached context before its own scripts: reports request bodies with files, which the
// DevTools protocol reports without the content of files, and forgets with the document. The form of a body is reported
// before its request is sent, the content of its files as soon as it is read. A page may leave once it has the response: a
// `fetch` resolves when the files that only the page knows have been read, or a second after the response.
(() => {
  const own = window.__eikon__;
  if (!own.report || own.reportsUploads) return;
  own.reportsUploads = true;
  const LIMIT = 32_000_000;
  const { Blob, FileReader, FormData, Promise, ReadableStream, Request, URL, XMLHttpRequest } = window;
  const { entries } = FormData.prototype;
  const report = news => own.report({ subject: 'upload', ...news });
  const absolute = address => {
    try {
      return new URL(String(address), document.baseURI).href.split('#')[0];
    } catch {
      return String(address);
    }
  };
  let bodies = 0;
  const MAX_WAIT_MS = 1000;
  const setTimeout = window.__pwClock?.builtins?.setTimeout ?? window.setTimeout;
  const chosenByAgent = new WeakSet();
  // Returns a promise that is fulfilled once the file has been read; null if the agent knows the file.
  const readInto = (file, body, part) => {
    if (file.size > LIMIT || !(file instanceof Blob)) return null;
    const reader = new FileReader();
    const read = new Promise(done => {
      reader.onloadend = () => {
        done();
        report({ kind: 'content', body, part, content: reader.result?.slice(reader.result.indexOf(',') + 1) ?? null });
      };
    });
    reader.readAsDataURL(file);
    return chosenByAgent.has(file) ? null : read;
  };
  const fileFacts = file => ({ filename: file.name ?? '', type: file.type, size: file.size });

  // Returns the form of a body with files, which the body may lose before it is sent; null for any other body.
  const formOf = sent => {
    if (sent instanceof Blob) return { parts: null, files: [sent] };
    if (sent instanceof ReadableStream) return { parts: null, files: [{ name: 'a stream', type: '', size: -1 }] };
    if (!(sent instanceof FormData)) return null;
    const parts = [...Reflect.apply(entries, sent, [])];
    return parts.some(([, value]) => typeof value !== 'string') ? { parts, files: parts.map(([, value]) => value) } : null;
  };
  // Reports a body; returns the promises of `readInto`.
  const announce = (method, address, form) => {
    if (form === null) return [];
    const body = bodies++;
    const parts = form.parts?.map(([name, value]) =>
      typeof value === 'string' ? { name, value } : { name, ...fileFacts(value) }) ?? null;
    const raw = form.parts === null ? fileFacts(form.files[0]) : null;
    report({ kind: 'body', body, method: String(method).toUpperCase(), url: absolute(address), parts, raw });
    return form.files.map((file, part) => typeof file === 'string' ? null : readInto(file, body, part)).filter(Boolean);
  };
  const afterReading = async (response, reads) => {
    const received = await response;
    const late = new Promise(done => { setTimeout(done, MAX_WAIT_MS); });
    await Promise.race([Promise.all(reads), late]);
    return received;
  };

  const forms = new WeakMap();
  window.Request = new Proxy(Request, {
    construct(native, values, target) {
      const made = Reflect.construct(native, values, target);
      const [input, init] = values;
      const form = init?.body != null ? formOf(init.body) : forms.get(input) ?? null;
      if (form !== null) forms.set(made, form);
      return made;
    },
  });
  Request.prototype.constructor = window.Request;
  Request.prototype.clone = new Proxy(Request.prototype.clone, {
    apply(native, self, values) {
      const made = Reflect.apply(native, self, values);
      if (forms.has(self)) forms.set(made, forms.get(self));
      return made;
    },
  });
  window.fetch = new Proxy(window.fetch, {
    apply(native, self, values) {
      const [input, init] = values;
      const isRequest = input instanceof Request;
      const form = init?.body != null ? formOf(init.body) : isRequest ? forms.get(input) ?? null : null;
      const reads = announce(init?.method ?? (isRequest ? input.method : 'GET'), isRequest ? input.url : input, form);
      const response = Reflect.apply(native, self, values);
      return reads.length ? afterReading(response, reads) : response;
    },
  });
  navigator.sendBeacon && (Navigator.prototype.sendBeacon = new Proxy(Navigator.prototype.sendBeacon, {
    apply(native, self, values) {
      announce('POST', values[0], formOf(values[1]));
      return Reflect.apply(native, self, values);
    },
  }));
  const opened = new WeakMap();
  XMLHttpRequest.prototype.open = new Proxy(XMLHttpRequest.prototype.open, {
    apply(native, self, values) {
      const result = Reflect.apply(native, self, values);
      opened.set(self, { method: values[0], url: absolute(values[1]) });
      return result;
    },
  });
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply(native, self, values) {
      const place = opened.get(self);
      if (place && self.readyState === 1) announce(place.method, place.url, formOf(values[0]));
      return Reflect.apply(native, self, values);
    },
  });

  // A form fires `formdata` when it is submitted, and when a script reads it.
  let reading = 0;
  let submitter = null;
  window.FormData = new Proxy(FormData, {
    construct(native, values, target) {
      reading += 1;
      try {
        return Reflect.construct(native, values, target);
      } finally {
        reading -= 1;
      }
    },
  });
  FormData.prototype.constructor = window.FormData;
  window.addEventListener('submit', event => { if (event.isTrusted) submitter = event.submitter; }, true);
  window.addEventListener('formdata', event => {
    const form = event.target;
    if (!event.isTrusted || reading || !(form instanceof HTMLFormElement)) return;
    const pressed = submitter?.form === form ? submitter : null;
    submitter = null;
    const chosen = (name, general) => pressed?.hasAttribute(name) ? pressed[general] : null;
    const { get } = Object.getOwnPropertyDescriptor(HTMLFormElement.prototype, 'enctype');
    const method = chosen('formmethod', 'formMethod') ?? (form.getAttribute('method') ?? 'get');
    const enctype = chosen('formenctype', 'formEnctype') ?? Reflect.apply(get, form, []);
    if (String(method).toLowerCase() !== 'post' || enctype !== 'multipart/form-data') return;
    const action = chosen('formaction', 'formAction') ?? (form.getAttribute('action') || document.URL);
    announce('POST', action, formOf(event.formData));
  });

  // The browser knows the type of a file that was chosen by its path.
  window.addEventListener('change', event => {
    const [field] = event.composedPath();
    if (field instanceof HTMLInputElement && field.type === 'file' && field.files.length) {
      for (const file of field.files) chosenByAgent.add(file);
      report({ kind: 'chosen', files: [...field.files].map(fileFacts) });
    }
  }, true);
})();
