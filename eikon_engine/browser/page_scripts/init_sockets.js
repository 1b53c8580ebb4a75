// Runs in every document after Playwright's WebSocket, with which a route replaces the browser's. The driver decides
// when the page sees its socket open or fail, and with which protocol.
(() => {
  const own = window.__eikon__;
  const MARK = '\0eikon:';
  if (!window.WebSocket || own.sockets === window.WebSocket) return;
  const Routed = window.WebSocket;

  // Sockets that the driver, or in live sessions the server, has not answered yet, and when they were created: page time
  // must not overtake that. It is real time, which bounds the wait.
  const opening = new Map();
  const OPENING_MS = 1500;
  const RealDate = window.__pwClock?.builtins?.Date ?? Date;
  const now = () => RealDate.now();
  own.openingSockets = () => [...opening.values()].filter(since => now() - since < OPENING_MS).length;

  const isMark = message => typeof message === 'string' && message.startsWith(MARK);

  class WebSocket extends Routed {
    #state;
    #announced = false;
    #asked = false;
    #inside = false;

    constructor(...values) {
      own.unseeded = true; // Playwright draws random socket ids here, for all contexts together
      try {
        super(...values);
      } finally {
        own.unseeded = false;
      }
      opening.set(this, now());
      this.#state = this.readyState;
      Object.defineProperty(this, 'readyState', {
        get: () => this.#announced || this.#inside || this.#state > 1 ? this.#state : 0,
        set: value => { this.#state = value; },
      });
    }

    // The driver learns which interval sends a message right before it.
    send(message) {
      if (own.intervalBegun !== undefined && this.#state === 1 && !(message instanceof Blob)) {
        super.send(MARK + JSON.stringify({ interval: own.intervalBegun }));
      }
      super.send(message);
    }

    // Called by the driver in any state, also if the page has closed the socket meanwhile.
    _apiEnsureOpened() {
      opening.delete(this);
      super._apiEnsureOpened();
    }

    _apiConnect() {
      try {
        super._apiConnect();
      } catch (error) {
        opening.delete(this);
        throw error;
      }
    }

    // Messages of the driver reach a socket that is open for Playwright, but not yet for the page, or closing.
    _apiSendToPage(message) {
      opening.delete(this);
      if (this.#state === 2 && isMark(message)) return this.#hear(message);
      this.#inside = true;
      try {
        super._apiSendToPage(message);
      } finally {
        this.#inside = false;
      }
    }

    dispatchEvent(event) {
      opening.delete(this);
      if (event.type === 'message' && isMark(event.data)) {
        this.#hear(event.data);
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
      if (event.type !== 'close') return super.dispatchEvent(event);
      // The page closed it before it opened: https://websockets.spec.whatwg.org/#dom-websocket-close
      super.dispatchEvent(new Event('error'));
      return super.dispatchEvent(new CloseEvent('close', { code: 1006 }));
    }

    #hear(message) {
      const { accepted, closed } = JSON.parse(message.slice(MARK.length));
      if (this.#state === 3 || (accepted && this.#state === 2)) return;
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
