// Runs in every document before its own scripts: streamed responses, and event sources on top of them. A fulfilled
// response cannot be sent in pieces, so a response recorded in pieces is served empty, with a stream id; its pieces are
// fed to that stream. Used in recording and replay alike, so that event sources behave alike.
(() => {
  const own = window.__eikon__;
  if (own.feed) return; // the first document of a popup shares its window with the next one
  const NAME = 'x-eikon-stream';
  const REDIRECTED = 'x-eikon-redirected';
  const sources = new Map();
  const sourceOf = id => {
    if (!sources.has(id)) {
      const source = { onEnd: [] };
      source.stream = new ReadableStream({
        start(controller) { source.controller = controller; },
        cancel() { source.over = true; },
      });
      sources.set(id, source);
    }
    return sources.get(id);
  };
  own.feed = (id, base64, ends) => {
    const source = sourceOf(id);
    if (source.over) return;
    const text = atob(base64);
    if (text.length) source.controller.enqueue(Uint8Array.from(text, each => each.charCodeAt(0)));
    if (ends === 'end') source.controller.close();
    if (ends === 'failure') source.controller.error(new TypeError('network error'));
    source.over = ends !== '';
    if (source.over) for (const notify of source.onEnd) notify();
  };

  // Restore the properties of a response: a served redirect was flattened, and a stream is a Response that we
  // constructed.
  const { get: urlOf } = Object.getOwnPropertyDescriptor(window.Response.prototype, 'url');
  const WHOLE = { over: true };
  const bodies = new WeakMap();
  const bodyOf = response => {
    try {
      return bodies.get(response) ?? (urlOf.call(response) !== '' ? WHOLE : undefined);
    } catch {
      return undefined; // no response
    }
  };
  // Calls `notify` once the body of a response waits for nothing but the browser: at once, or when its stream has ended.
  // Returns false for a response that a script made.
  own.onceWhole = (response, notify) => {
    const body = bodyOf(response);
    if (body?.over) notify();
    else body?.onEnd.push(notify);
    return body !== undefined;
  };
  const withFacts = (response, facts) => {
    for (const name of Object.keys(facts)) Object.defineProperty(response, name, { value: facts[name] });
    const clone = () => {
      const copy = withFacts(Response.prototype.clone.call(response), facts);
      if (bodies.has(response)) bodies.set(copy, bodies.get(response));
      return copy;
    };
    return Object.defineProperty(response, 'clone', { value: clone, configurable: true, writable: true });
  };
  const factsOf = native => {
    const to = native.headers.get(REDIRECTED);
    return { url: (to ?? native.url).split('#')[0], redirected: to !== null || native.redirected, type: native.type };
  };
  const EXPOSE = 'access-control-expose-headers';
  const exposed = value => value.split(',').map(each => each.trim()).filter(each => each !== NAME && each !== REDIRECTED);
  const without = headers => {
    const left = new Headers(headers);
    left.delete(NAME);
    left.delete(REDIRECTED);
    if (!left.has(EXPOSE)) return left;
    const others = exposed(left.get(EXPOSE));
    if (others.length) left.set(EXPOSE, others.join(', '));
    else left.delete(EXPOSE);
    return left;
  };
  const served = (native, signal) => {
    const id = native.headers.get(NAME);
    if (id === null && !native.headers.has(REDIRECTED)) return native;
    let body = native.body, source = WHOLE;
    if (id !== null) {
      source = sourceOf(id);
      body = source.stream;
      signal?.addEventListener('abort', () => {
        if (!source.over) source.controller.error(signal.reason);
        source.over = true;
      });
    }
    const { status, statusText } = native;
    const made = withFacts(new Response(body, { status, statusText, headers: without(native.headers) }), factsOf(native));
    bodies.set(made, source);
    return made;
  };
  // Chromium ends a response with `no-store` only when a script has read its body, which a page may never do, as with
  // an error: then a copy is read.
  const FINITE_BYTES = 1 << 20;
  const later = window.__pwClock?.builtins?.setTimeout ?? window.setTimeout;
  const endUnread = response => {
    const { headers, status } = response;
    if (!/\bno-store\b/i.test(headers.get('cache-control'))) return;
    if (status < 400 && !(Number(headers.get('content-length') ?? NaN) <= FINITE_BYTES)) return;
    later(() => {
      if (!response.bodyUsed && !response.body?.locked) response.clone().arrayBuffer().catch(() => {});
    }, 1);
  };
  if (window.fetch) {
    window.fetch = new Proxy(window.fetch, {
      apply(native, self, values) {
        const signal = values[1]?.signal ?? values[0]?.signal;
        return Reflect.apply(native, self, values).then(response => {
          endUnread(response);
          return served(response, signal);
        });
      },
    });
  }

  // Check all headers of an XMLHttpRequest first: reading a forbidden one logs an error to the console.
  const { getAllResponseHeaders, getResponseHeader } = XMLHttpRequest.prototype;
  const lines = request => getAllResponseHeaders.call(request).split('\r\n').filter(Boolean);
  const redirectedTo = request => lines(request).find(line => line.startsWith(REDIRECTED + ': '))?.slice(REDIRECTED.length + 2);
  const patched = (name, wrap) => {
    XMLHttpRequest.prototype[name] = new Proxy(XMLHttpRequest.prototype[name], { apply: wrap });
  };
  patched('getAllResponseHeaders', (native, self) => {
    const text = Reflect.apply(native, self, []);
    if (!text.includes(REDIRECTED)) return text;
    return lines(self).flatMap(line => {
      if (line.startsWith(REDIRECTED + ': ')) return [];
      if (!line.startsWith(EXPOSE + ': ')) return [line + '\r\n'];
      const others = exposed(line.slice(EXPOSE.length + 2));
      return others.length ? [EXPOSE + ': ' + others.join(', ') + '\r\n'] : [];
    }).join('');
  });
  patched('getResponseHeader', (native, self, values) => {
    const name = String(values[0]).toLowerCase();
    if (values.length && (name === REDIRECTED || name === EXPOSE) && redirectedTo(self) !== undefined) {
      if (name === REDIRECTED) return null;
      return exposed(getResponseHeader.call(self, EXPOSE) ?? '').join(', ') || null;
    }
    return Reflect.apply(native, self, values);
  });
  const address = Object.getOwnPropertyDescriptor(XMLHttpRequest.prototype, 'responseURL');
  const { get: responseURL } = Object.getOwnPropertyDescriptor({
    get responseURL() { return redirectedTo(this)?.split('#')[0] ?? address.get.call(this); },
  }, 'responseURL');
  Object.defineProperty(XMLHttpRequest.prototype, 'responseURL', { ...address, get: responseURL });

  // https://html.spec.whatwg.org/multipage/server-sent-events.html, over fetch, with the page's own timers.
  const { fetch, setTimeout } = window;
  class EventSource extends EventTarget {
    static CONNECTING = 0;
    static OPEN = 1;
    static CLOSED = 2;
    #state = 0;
    #retry = 3000;
    #lastId = '';
    #abort = new AbortController();
    #handlers = {};

    constructor(url, init = {}) {
      super();
      try {
        this.url = new URL(url, document.baseURI).href;
      } catch {
        throw new DOMException(`Failed to construct 'EventSource': Cannot open an EventSource to '${url}'.`, 'SyntaxError');
      }
      this.withCredentials = Boolean(init?.withCredentials);
      this.#connect();
    }

    get readyState() { return this.#state; }
    get CONNECTING() { return 0; }
    get OPEN() { return 1; }
    get CLOSED() { return 2; }
    close() {
      this.#state = 2;
      later(() => this.#abort.abort(), 500); // data that has arrived may still be on its way to a recording
    }

    handler(kind, value) {
      if (value === undefined) return this.#handlers[kind] ?? null;
      if (this.#handlers[kind]) this.removeEventListener(kind, this.#handlers[kind]);
      this.#handlers[kind] = typeof value === 'function' ? value : null;
      if (this.#handlers[kind]) this.addEventListener(kind, this.#handlers[kind]);
    }

    async #connect() {
      const headers = { accept: 'text/event-stream' };
      if (this.#lastId) headers['last-event-id'] = this.#lastId;
      try {
        const response = await fetch(this.url, {
          headers, cache: 'no-store', credentials: this.withCredentials ? 'include' : 'same-origin',
          signal: this.#abort.signal,
        });
        const kind = (response.headers.get('content-type') || '').split(';')[0].trim().toLowerCase();
        if (response.status !== 200 || kind !== 'text/event-stream') {
          response.body?.cancel();
          this.#fail();
          return;
        }
        if (this.#state === 2) return;
        this.#state = 1;
        this.dispatchEvent(new Event('open'));
        await this.#read(response);
      } catch {
        if (this.#state === 2) return;
      }
      this.#again();
    }

    async #read(response) {
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '', message = { data: [], kind: '' };
      for (;;) {
        const { value, done } = await reader.read();
        if (done || this.#state === 2) return;
        text += value;
        const lines = text.split(/\r\n|\n|\r(?!$)/);
        text = lines.pop();
        for (const line of lines) {
          if (line === '') {
            this.#dispatch(message, response.url);
            message = { data: [], kind: '' };
          } else {
            this.#field(message, line);
          }
        }
      }
    }

    #field(message, line) {
      const [, name, value] = /^([^:]*):? ?([^]*)$/.exec(line);
      if (name === 'data') message.data.push(value);
      else if (name === 'event') message.kind = value;
      else if (name === 'id' && !value.includes('\0')) this.#lastId = value;
      else if (name === 'retry' && /^\d+$/.test(value)) this.#retry = Number(value);
    }

    #dispatch(message, url) {
      if (!message.data.length || this.#state === 2) return;
      this.dispatchEvent(new MessageEvent(message.kind || 'message', {
        data: message.data.join('\n'), lastEventId: this.#lastId, origin: new URL(url || this.url).origin,
      }));
    }

    #again() {
      if (this.#state === 2) return;
      this.#state = 0;
      this.dispatchEvent(new Event('error'));
      setTimeout(() => { if (this.#state === 0) this.#connect(); }, this.#retry);
    }

    #fail() {
      if (this.#state === 2) return;
      this.#state = 2;
      this.dispatchEvent(new Event('error'));
    }
  }
  for (const kind of ['open', 'message', 'error']) {
    Object.defineProperty(EventSource.prototype, `on${kind}`, {
      get() { return this.handler(kind); },
      set(value) { this.handler(kind, value); },
    });
  }
  if (window.EventSource) window.EventSource = EventSource;
})();
