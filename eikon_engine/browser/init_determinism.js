// Runs in every document before its own scripts: chance from a seed, timers that cannot starve the stepped clock, and
// animations that end at once but still fire their events. Part of recording and replay alike.
(seed => {
  if (!window.__eikon__) Object.defineProperty(window, '__eikon__', { value: {}, enumerable: false });
  const own = window.__eikon__;
  own.ownSheets = own.ownSheets || new WeakSet();

  // xorshift128, seeded by splitmix32: Marsaglia, "Xorshift RNGs", 2003. Used in workers too, as text.
  own.seedChance = (scope, start) => {
    let mix = start >>> 0;
    const split = () => {
      mix = (mix + 0x9e3779b9) >>> 0;
      let word = mix;
      word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
      return (word ^ (word >>> 15)) >>> 0;
    };
    const state = [split(), split(), split(), split() || 1];
    const next = () => {
      let word = state[3];
      const first = state[0];
      state[3] = state[2];
      state[2] = state[1];
      state[1] = first;
      word ^= word << 11;
      word ^= word >>> 8;
      return (state[0] = (word ^ first ^ (first >>> 19)) >>> 0);
    };
    if (!scope.Crypto) return;
    const fill = function getRandomValues(array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let index = 0; index < bytes.length; index++) bytes[index] = next() & 0xff;
      return array;
    };
    scope.Crypto.prototype.getRandomValues = fill;
    scope.Crypto.prototype.randomUUID = function randomUUID() {
      const bytes = fill(new Uint8Array(16));
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
    };
  };
  own.seedChance(window, seed);

  // The stepped clock stops at a callback that throws; a browser reports the error and goes on.
  const guarded = callback => typeof callback !== 'function' ? callback : function (...values) {
    try {
      return callback.apply(this, values);
    } catch (error) {
      reportError(error);
    }
  };
  const { setInterval: setIntervalOfClock, setTimeout: setTimeoutOfClock } = window;
  window.setInterval = function setInterval(callback, delay, ...rest) {
    return setIntervalOfClock.call(window, guarded(callback), Math.max(1, Number(delay) || 0), ...rest);
  };
  window.setTimeout = function setTimeout(callback, ...rest) {
    return setTimeoutOfClock.call(window, guarded(callback), ...rest);
  };
  for (const name of ['requestAnimationFrame', 'requestIdleCallback']) {
    const ofClock = window[name];
    if (ofClock) window[name] = (callback, ...rest) => ofClock.call(window, guarded(callback), ...rest);
  }

  // What a page has asked for, and not been told yet: the driver hears of a request only some time after the page sent it.
  own.pending = 0;
  if (window.fetch) {
    window.fetch = new Proxy(window.fetch, {
      apply(native, self, values) {
        const answer = Reflect.apply(native, self, values);
        own.pending += 1;
        return answer.finally(() => { own.pending -= 1; });
      },
    });
  }
  XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply(native, self, values) {
      own.pending += 1;
      let ends = () => { own.pending -= 1; ends = () => {}; };
      self.addEventListener('loadend', () => ends(), { once: true });
      try {
        return Reflect.apply(native, self, values);
      } catch (error) {
        ends();
        throw error;
      }
    },
  });

  // A document that is about to be replaced asks for nothing yet: the browser's request follows some time later.
  window.navigation?.addEventListener('navigate', event => {
    const loads = !event.destination.sameDocument && !event.hashChange && event.downloadRequest === null;
    own.leaving = loads && /^(https?|blob|data|about|file):/.test(event.destination.url) ? event : null;
  });
  window.navigation?.addEventListener('navigateerror', () => { own.leaving = null; });
  if (window.NavigateEvent) {
    const { intercept } = NavigateEvent.prototype;
    NavigateEvent.prototype.intercept = function (...values) {
      own.leaving = null;
      return intercept.apply(this, values);
    };
  }

  // Only animations of style sheets are made quick here. A duration for transitions would turn every change of style into
  // one, and a page that measures what it has just changed would find the old size.
  const quick = '*,*::before,*::after{animation-duration:1ms!important;animation-delay:0s!important;' +
    'animation-iteration-count:1!important;scroll-behavior:auto!important}';
  const adopt = root => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(quick);
    own.ownSheets.add(sheet);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  };
  adopt(document);
  const attachShadow = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (init) {
    const root = attachShadow.call(this, init);
    adopt(root);
    return root;
  };
})
