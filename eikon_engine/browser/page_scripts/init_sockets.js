// Runs in every document after Playwright's WebSocket, with which a route replaces the browser's. The driver decides
// when the page sees its socket open or fail, and with which protocol.
(() => {
  const own = window.__eikon__;
  const MARK = '\0eikon:';
  if (!window.WebSocket || own.sockets === window.WebSocket) return;
  const Routed = window.WebSocket;

  class WebSocket extends Routed {
    #state;
    #announced = false;
    #asked = false;
    #inside = false;
    #isPending = true; // until the driver, or the server behind it, knows of the socket: page time must not overtake that

    constructor(...values) {
      own.unseeded = true; // Playwright draws random socket ids here, for all contexts together
      try {
        super(...values);
      } finally {
        own.unseeded = false;
      }
      own.pending += 1;
      this.#state = this.readyState;
      Object.defineProperty(this, 'readyState', {
        get: () => this.#announced || this.#inside || this.#state > 1 ? this.#state : 0,
        set: value => { this.#state = value; },
      });
    }

    // Messages of the driver reach a socket that is open for Playwright, but not yet for the page.
    _apiSendToPage(message) {
      this.#inside = true;
      try {
        super._apiSendToPage(message);
      } finally {
        this.#inside = false;
      }
    }

    dispatchEvent(event) {
      if (this.#isPending) {
        this.#isPending = false;
        own.pending -= 1;
      }
      if (event.type === 'message' && typeof event.data === 'string' && event.data.startsWith(MARK)) {
        this.#hear(JSON.parse(event.data.slice(MARK.length)));
        return true;
      }
      if (this.#announced) return super.dispatchEvent(event);
      if (event.type === 'open') {
        if (this.#asked || this.#inside) return true;
        const { protocol, extensions } = this;
        this.#asked = this.#announced = true;
        super.send(MARK + JSON.stringify({ protocol, extensions }));
        this.#announced = false;
        return true;
      }
      if (event.type === 'error') return true;
      return super.dispatchEvent(event);
    }

    #hear({ accepted, closed }) {
      if (this.#state === 3) return;
      this.#announced = true;
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
