// Runs in every document before its own scripts: seeded randomness, timers that cannot block the stepped clock, and
// animations that end at once but still fire their events. Used in recording and replay alike. `drawsMath` means that no
// flag of the browser seeds `Math.random`.
((seed, drawsMath) => {
  const own = window.__eikon__;
  own.ownSheets = own.ownSheets || new WeakSet();
  own.observePerformance ??= window.PerformanceObserver?.prototype.observe;

  // Replace what differs between runs and machines, in a window or, as source text, in a worker: randomness by a seeded
  // generator, machine properties, delays that no clock steps. The generator is xorshift128, seeded by splitmix32:
  // Marsaglia, "Xorshift RNGs", 2003.
  own.makeDeterministic = (scope, start, drawsMath) => {
    const answer = (place, values) => {
      for (const name of Object.keys(values)) {
        if (!place || !(name in place)) continue;
        const found = Object.getOwnPropertyDescriptor(place, name);
        Object.defineProperty(place, name, { ...found, get: () => values[name] });
      }
    };
    answer((scope.Navigator ?? scope.WorkerNavigator).prototype, { hardwareConcurrency: 4, deviceMemory: 8 });
    answer(scope.NetworkInformation?.prototype, { effectiveType: '4g', rtt: 50, downlink: 10, saveData: false });
    if (scope.StorageManager) {
      scope.StorageManager.prototype.estimate = async () => ({ quota: 10737418240, usage: 0, usageDetails: {} });
    }
    // The stepped clock has no entries; an observer would see real durations.
    if (scope.PerformanceObserver) scope.PerformanceObserver.prototype.observe = function observe() {};
    const { postTask } = scope.Scheduler?.prototype ?? {};
    if (postTask) {
      scope.Scheduler.prototype.postTask = function (task, { delay = 0, ...options } = {}) {
        const post = () => postTask.call(this, task, options);
        if (!(delay > 0)) return post();
        return new Promise((done, failed) => {
          const timer = scope.setTimeout(() => post().then(done, failed), delay);
          const stop = () => {
            scope.clearTimeout(timer);
            failed(options.signal.reason);
          };
          if (options.signal?.aborted) stop();
          else options.signal?.addEventListener('abort', stop, { once: true });
        });
      };
    }
    const { imul } = Math;
    const generator = from => {
      let mix = from >>> 0;
      const split = () => {
        mix = (mix + 0x9e3779b9) >>> 0;
        let word = mix;
        word = imul(word ^ (word >>> 16), 0x21f0aaad);
        word = imul(word ^ (word >>> 15), 0x735a2d97);
        return (word ^ (word >>> 15)) >>> 0;
      };
      const state = [split(), split(), split(), split() || 1];
      return () => {
        let word = state[3];
        const first = state[0];
        state[3] = state[2];
        state[2] = state[1];
        state[1] = first;
        word ^= word << 11;
        word ^= word >>> 8;
        return (state[0] = (word ^ first ^ (first >>> 19)) >>> 0);
      };
    };
    const next = generator(start);
    const shown = new WeakMap();
    const native = (place, name, apply) => {
      const text = Reflect.apply(scope.Function.prototype.toString, place[name], []);
      place[name] = new Proxy(place[name], { apply });
      shown.set(place[name], text);
    };
    if (drawsMath) {
      native(scope.Function.prototype, 'toString', (own, self, values) => shown.get(self) ?? Reflect.apply(own, self, values));
      const draw = generator(start ^ 0x6d617468);
      native(scope.Math, 'random', () => ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992);
    }
    if (!scope.Crypto) return;
    const real = scope.Crypto.prototype.getRandomValues;
    const fill = function getRandomValues(array) {
      // The driver's own calls must not consume the page's random numbers.
      if (scope.__eikon__?.unseeded) return real.call(scope.crypto, array);
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let index = 0; index < bytes.length; index++) bytes[index] = next() & 0xff;
      return array;
    };
    const uuid = function randomUUID() {
      const bytes = fill(new Uint8Array(16));
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
    };
    if (!drawsMath) {
      scope.Crypto.prototype.getRandomValues = fill;
      scope.Crypto.prototype.randomUUID = uuid;
      return;
    }
    // In the browser of an agent, they look like the browser's own and reject what those reject.
    native(scope.Crypto.prototype, 'getRandomValues', (own, self, values) => {
      Reflect.apply(own, self, values);
      return fill(values[0]);
    });
    if (scope.Crypto.prototype.randomUUID) {
      native(scope.Crypto.prototype, 'randomUUID', (own, self, values) => {
        Reflect.apply(own, self, values);
        return uuid();
      });
    }
  };
  // A site that was not made for us may store what its documents draw: no two documents draw the same.
  own.seed = seed;
  if (drawsMath) {
    const place = location.protocol.startsWith('http') ? location.pathname : '';
    const facts = place + ' ' + (window === window.top ? history.length : 'frame');
    for (let index = 0; index < facts.length; index++) {
      own.seed = Math.imul(own.seed ^ facts.charCodeAt(index), 0x01000193) >>> 0;
    }
  }
  own.makeDeterministic(window, own.seed, drawsMath);

  // The stepped clock stops at a callback that throws; a browser reports the error and continues.
  const run = own.asPage(Reflect.apply);
  const guarded = callback => typeof callback !== 'function' ? callback : function (...values) {
    try {
      return run(callback, this, values);
    } catch (error) {
      reportError(error);
    }
  };
  // When the interval whose callback runs was begun: no later action can be the cause of what it sends.
  const inInterval = callback => {
    if (typeof callback !== 'function') return callback;
    const begun = Date.now();
    return function (...values) {
      const outer = own.intervalBegun;
      own.intervalBegun = begun;
      try {
        return Reflect.apply(callback, this, values);
      } finally {
        own.intervalBegun = outer;
      }
    };
  };
  // The first document of a popup shares its window, and our patches, with the next one.
  const isReused = 'pending' in own;
  own.pending = 0;
  const { setInterval: setIntervalOfClock, setTimeout: setTimeoutOfClock } = window;
  const begin = own.guardHook((ofClock, callback, rest) => ofClock.call(window, guarded(callback), ...rest));
  const beginInterval = own.guardHook((callback, delay, rest) => begin(setIntervalOfClock, callback, [delay, ...rest]));
  window.setInterval = function setInterval(callback, delay, ...rest) {
    return beginInterval(inInterval(callback), Math.max(1, Number(delay) || 0), rest);
  };
  window.setTimeout = function setTimeout(callback, ...rest) {
    if (own.postpone) rest[0] = own.postpone(rest[0] ?? 0);
    return begin(setTimeoutOfClock, callback, rest);
  };
  for (const name of ['requestAnimationFrame', 'requestIdleCallback']) {
    const ofClock = window[name];
    if (ofClock) window[name] = (callback, ...rest) => begin(ofClock, callback, rest);
  }

  // A clock that is paused before it ran reports -1.
  const origin = Date.now() - performance.now();
  Object.defineProperty(performance, 'timeOrigin', { get: () => origin, configurable: true, enumerable: true });

  // Without a Last-Modified header, a document reports the real time of the query.
  const modified = Object.getOwnPropertyDescriptor(Document.prototype, 'lastModified');
  const RealDate = window.__pwClock?.builtins?.Date ?? Date;
  Object.defineProperty(Document.prototype, 'lastModified', { ...modified, get() {
    const text = modified.get.call(this);
    if (Math.abs(RealDate.parse(text) - RealDate.now()) > 2000) return text;
    const two = number => String(number).padStart(2, '0');
    const at = new Date(origin);
    return two(at.getMonth() + 1) + '/' + two(at.getDate()) + '/' + at.getFullYear() + ' ' +
      [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  } });

  // The browser compares a cookie's date with the real time; its lifetime must follow the page clock. Writes are counted:
  // the browser does not report them.
  own.cookieWrites ??= 0;
  const cookie = Object.getOwnPropertyDescriptor(Document.prototype, 'cookie');
  const withMaxAge = text => /;\s*max-age\s*=/i.test(text) ? text :
    text.replace(/;\s*expires\s*=\s*([^;]*)/i, (whole, date) => {
      const until = Date.parse(date);
      return Number.isNaN(until) ? whole : '; max-age=' + Math.max(0, Math.round((until - Date.now()) / 1000));
    });
  Object.defineProperty(Document.prototype, 'cookie', { ...cookie, set(text) {
    own.cookieWrites += 1;
    cookie.set.call(this, withMaxAge(`${text}`));
  } });
  const { set: keepCookie, delete: deleteCookie } = window.CookieStore?.prototype ?? {};
  if (keepCookie) {
    const counted = written => {
      own.cookieWrites += 1;
      return written.finally(() => { own.cookieWrites += 1; });
    };
    CookieStore.prototype.delete = { delete(name) { return counted(deleteCookie.apply(this, arguments)); } }.delete;
    CookieStore.prototype.set = function set(named, ...rest) {
      const dated = typeof named?.expires === 'number';
      const given = dated ? { ...named, expires: named.expires - Date.now() + RealDate.now() } : named;
      return counted(keepCookie.call(this, given, ...rest));
    };
  }

  // The browser sends deferred fetches past every route, at a time of its own: send them now.
  if (window.fetchLater) {
    window.fetchLater = function fetchLater(input, { activateAfter, ...options } = {}) {
      const request = new Request(input, { ...options, keepalive: true });
      window.fetch(request).catch(() => {});
      return { activated: true };
    };
  }

  // Count requests without a response: the driver learns of a request only some time after the page sent it. Fetches also by
  // URL: it learns that a response was received before the script that waits for it does.
  const { URL } = window, { apply } = Reflect, { addEventListener } = EventTarget.prototype;
  const fetching = own.fetching ??= new Map();
  own.fetchesOf = url => fetching.get(url) ?? 0;
  const addressOf = input => {
    try {
      const { href, protocol } = new URL(input?.url ?? input, document.baseURI);
      return protocol.startsWith('http') ? href.split('#')[0] : '';
    } catch {
      return ''; // no URL: the fetch fails
    }
  };
  if (window.fetch && !isReused) {
    const count = own.guardHook((answer, input) => {
      const url = addressOf(input);
      own.pending += 1;
      fetching.set(url, own.fetchesOf(url) + 1);
      return answer.finally(own.guardHook(() => {
        own.pending -= 1;
        const left = own.fetchesOf(url) - 1;
        if (left) fetching.set(url, left);
        else fetching.delete(url);
      }));
    });
    window.fetch = new Proxy(window.fetch, {
      apply: (native, self, values) => count(apply(native, self, values), values[0]),
    });
  }
  if (!isReused) XMLHttpRequest.prototype.send = new Proxy(XMLHttpRequest.prototype.send, {
    apply(native, self, values) {
      own.pending += 1;
      let ends = () => { own.pending -= 1; ends = () => {}; };
      apply(addEventListener, self, ['loadend', () => ends(), { once: true }]);
      try {
        return apply(native, self, values);
      } catch (error) {
        ends();
        throw error;
      }
    },
  });

  // A document about to be replaced sends no request yet: the browser's request follows some time later.
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

  // Only style sheet animations are shortened. A duration for transitions would turn every style change into a
  // transition, and a page that measures what it has just changed would see the old size.
  const shortAnimations = '*,*::before,*::after{animation-duration:1ms!important;animation-delay:0s!important;' +
    'animation-iteration-count:1!important;scroll-behavior:auto!important}';
  const adopt = own.guardHook(root => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(shortAnimations);
    own.ownSheets.add(sheet);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  });
  adopt(document);
  let roots = [];
  const enter = root => {
    adopt(root);
    roots.push(new WeakRef(root));
  };
  const attachShadow = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (init) {
    const root = attachShadow.call(this, init);
    enter(root);
    return root;
  };
  // A declarative shadow root does not pass through attachShadow.
  const declared = place => {
    for (const each of own.queryAll(place, '*')) {
      if (!each.shadowRoot || own.entered.has(each.shadowRoot)) continue;
      own.entered.add(each.shadowRoot);
      if (!each.shadowRoot.adoptedStyleSheets.some(sheet => own.ownSheets.has(sheet))) enter(each.shadowRoot);
      declared(each.shadowRoot);
    }
  };
  own.entered = new WeakSet();
  document.addEventListener('readystatechange', own.guard(() => declared(document)));

  // Animations have a clock of their own, which nothing can step: finish finite ones now, with their events, and pause
  // infinite ones at their start. Returns how many there were; document.getAnimations omits shadow roots.
  own.endAnimations = () => {
    roots = roots.filter(each => each.deref());
    const all = [own.ofDocument('getAnimations'), ...roots.map(each => each.deref()?.getAnimations() ?? [])].flat();
    const moving = all.filter(each => each.playState === 'running' && each.timeline === document.timeline);
    for (const each of moving) {
      if (each.effect?.getComputedTiming().endTime < Infinity && each.playbackRate) each.finish();
      else {
        each.pause();
        each.currentTime = 0;
      }
    }
    return moving.length;
  };
})
