// Runs in every document after Playwright's own WebSocket, which a route takes the place of the browser's with. A page is
// told that its socket is open, or failed, when the driver says so: at its moment, with the protocol that was agreed on.
(() => {
  const own = window.__eikon__;
  const MARK = '\0eikon:';
  if (!window.WebSocket || own.sockets === window.WebSocket) return;
  const Routed = window.WebSocket;

  class WebSocket extends Routed {
    #state;
    #told = false;
    #asked = false;
    #inside = false;

    constructor(...values) {
      own.unseeded = true; // Playwright knows sockets by numbers that it draws here, those of all contexts together
      try {
        super(...values);
      } finally {
        own.unseeded = false;
      }
      this.#state = this.readyState;
      Object.defineProperty(this, 'readyState', {
        get: () => this.#told || this.#inside || this.#state > 1 ? this.#state : 0,
        set: value => { this.#state = value; },
      });
    }

    // What the driver sends comes to a socket that is open for Playwright, though the page is not told yet.
    _apiSendToPage(message) {
      this.#inside = true;
      try {
        super._apiSendToPage(message);
      } finally {
        this.#inside = false;
      }
    }

    dispatchEvent(event) {
      if (event.type === 'message' && typeof event.data === 'string' && event.data.startsWith(MARK)) {
        this.#hear(JSON.parse(event.data.slice(MARK.length)));
        return true;
      }
      if (this.#told) return super.dispatchEvent(event);
      if (event.type === 'open') {
        if (this.#asked || this.#inside) return true;
        const { protocol, extensions } = this;
        this.#asked = this.#told = true;
        super.send(MARK + JSON.stringify({ protocol, extensions }));
        this.#told = false;
        return true;
      }
      if (event.type === 'error') return true;
      return super.dispatchEvent(event);
    }

    #hear({ accepted, closed }) {
      if (this.#state === 3) return;
      this.#told = true;
      if (accepted) {
        this.protocol = accepted.protocol;
        this.extensions = accepted.extensions;
        super.dispatchEvent(new Event('open'));
      } else {
        this.#state = 3;
        if (closed.error) super.dispatchEvent(new Event('error'));
        super.dispatchEvent(new CloseEvent('close', closed));
      }
    }
  }
  window.WebSocket = own.sockets = WebSocket;
})();
