// Runs in every document before its own scripts, and again at the head of every worker started here: gives a worker the
// clock of its page and seeded randomness, and lets the page query whether it has work left. Contains no line breaks in
// text and no comments behind code: a worker gets it as one line, so that its own lines keep their numbers.
// `makeDeterministic` comes from init_determinism.js; `settings` are {seed, drawsMath, stepped}, in a worker also
// {machine}: what its page sees of the machine.
(function eikonWorkers(makeDeterministic, settings) {
  const scope = globalThis;
  const page = typeof Window === 'function' && scope instanceof Window;
  const own = page ? scope.__eikon__ : {};
  if (page && (!scope.Worker || own.stepWorkers)) return;
  const { defineProperty } = Object;
  const put = (place, name, value) => defineProperty(place, name, {
    value, writable: true, configurable: true, enumerable: Object.getOwnPropertyDescriptor(place, name)?.enumerable ?? false });
  const mark = '__eikon__';
  const tagged = !page && String(scope.name).startsWith(mark);
  const startData = tagged ? JSON.parse(scope.name.slice(mark.length)) : null;
  const base = startData?.url ?? (page ? null : scope.location.href);
  const absolute = address => {
    try {
      return new URL(String(address), base ?? document.baseURI).href;
    } catch {
      return String(address);
    }
  };
  const machine = () => {
    const { hardwareConcurrency, deviceMemory, language, languages } = navigator;
    return { hardwareConcurrency, deviceMemory, language, languages };
  };
  const applyMachine = () => {
    const place = WorkerNavigator.prototype;
    for (const [name, value] of Object.entries(settings.machine)) {
      if (Array.isArray(value)) Object.freeze(value);
      if (name in place) defineProperty(place, name, { ...Object.getOwnPropertyDescriptor(place, name), get: () => value });
    }
  };
  const text = () => {
    const line = String(eikonWorkers).replace(/^\s*\/\/.*$/gm, '').replace(/\s*\n\s*/g, ' ');
    const makeDeterministicLine = String(makeDeterministic).replace(/^\s*\/\/.*$/gm, '').replace(/\s*\n\s*/g, ' ');
    return '(' + line + ')(' + makeDeterministicLine + ',' + JSON.stringify({ ...settings, machine: machine() }) + ');';
  };
  // A body read as a Blob goes from the network to a file store, past whatever records bodies: read it whole first.
  const { arrayBuffer, blob: asFile } = scope.Response.prototype;
  put(scope.Response.prototype, 'blob', async function blob() {
    const type = this.headers.get('content-type');
    const bytes = await arrayBuffer.call(this);
    return asFile.call(new Response(bytes, type === null ? {} : { headers: { 'content-type': type } }));
  });
  const { createObjectURL, revokeObjectURL } = URL;
  const { setTimeout: realTimeout, clearTimeout: realClear } = scope.__pwClock?.builtins ?? scope;
  // Reports to the driver over the console, which pages cannot read: workers that are not under our clock.
  const { debug } = scope.console;
  const shown = address => address.startsWith('http') ? address : address.slice(0, 5) + '...';
  const report = (kind, address) => debug.call(scope.console,
    '\u0000eikon-worker:' + JSON.stringify({ kind, address: shown(absolute(address)) }));
  const blobs = new Map();
  const heads = new WeakMap();

  // A worker that runs this script knows its start time, its seed, its own name and URL.
  let advance = async () => {};
  let fetches = () => 0;
  const NEVER = 1e12;
  let untilTimer = () => 0;
  const timeOf = { now: () => Date.now() };
  const applyLocation = () => {
    put(scope, 'name', startData.name);
    if (startData.url !== null) {
      const place = Object.create(WorkerLocation.prototype);
      const url = new URL(startData.url);
      for (const part of ['href', 'origin', 'protocol', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'])
        put(place, part, url[part]);
      put(place, 'toString', () => url.href);
      defineProperty(scope, 'location', { value: place, configurable: true, enumerable: true });
      const resolved = value => typeof value === 'string' || value instanceof URL ? absolute(value) : value;
      const builds = name => scope[name] && put(scope, name, new Proxy(scope[name], {
        construct: (native, [address, ...rest], target) => Reflect.construct(native, [resolved(address), ...rest], target),
      }));
      for (const name of ['Request', 'EventSource', 'WebSocket']) builds(name);
      const { fetch, importScripts } = scope;
      put(scope, 'fetch', function (...values) {
        if (values.length) values[0] = resolved(values[0]);
        return fetch.apply(this, values);
      });
      put(scope, 'importScripts', (...addresses) => importScripts.apply(scope, addresses.map(resolved)));
      const { open } = XMLHttpRequest.prototype;
      XMLHttpRequest.prototype.open = function (method, address, ...rest) {
        return open.call(this, method, resolved(String(address)), ...rest);
      };
    }
  };

  const countFetches = () => {
    let open = 0;
    const { fetch } = scope;
    put(scope, 'fetch', function (...values) {
      open += 1;
      const answer = fetch.apply(this, values);
      answer.then(() => { open -= 1; }, () => { open -= 1; });
      return answer;
    });
    const { send } = XMLHttpRequest.prototype;
    XMLHttpRequest.prototype.send = function (...values) {
      open += 1;
      let ends = () => { open -= 1; ends = () => {}; };
      this.addEventListener('loadend', () => ends(), { once: true });
      try {
        return send.apply(this, values);
      } catch (error) {
        ends();
        throw error;
      }
    };
    fetches = () => open;
  };

  // A worker that loads a script or sends a request synchronously answers nothing until it has the response, which may be
  // delivered at a later page time: say so before and after.
  const reportBlocking = () => {
    let depth = 0;
    const blocking = call => {
      if (!depth++) postReport({ kind: 'blocked' });
      try {
        return call();
      } finally {
        if (!--depth) postReport({ kind: 'unblocked' });
      }
    };
    const { importScripts } = scope;
    put(scope, 'importScripts', (...addresses) => blocking(() => importScripts.apply(scope, addresses)));
    const { open, send } = XMLHttpRequest.prototype;
    const synchronous = new WeakSet();
    XMLHttpRequest.prototype.open = function (...values) {
      synchronous.delete(this);
      if (values.length > 2 && !values[2]) synchronous.add(this);
      return open.apply(this, values);
    };
    XMLHttpRequest.prototype.send = function (...values) {
      return synchronous.has(this) ? blocking(() => send.apply(this, values)) : send.apply(this, values);
    };
  };

  const applyClock = () => {
    const start = startData.now;
    const NativeDate = Date;
    const elapsed = performance.now.bind(performance);
    let time = start;
    const now = settings.stepped ? () => time : () => Math.floor(start + elapsed());
    timeOf.now = now;
    const FakeDate = new Proxy(NativeDate, {
      apply: () => String(new NativeDate(now())),
      construct: (native, values, target) => Reflect.construct(native, values.length ? values : [now()], target),
    });
    NativeDate.now = function () { return now(); };
    put(NativeDate.prototype, 'constructor', FakeDate);
    put(scope, 'Date', FakeDate);
    const format = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format');
    const { formatToParts } = Intl.DateTimeFormat.prototype;
    defineProperty(Intl.DateTimeFormat.prototype, 'format', { ...format, get() {
      const bound = format.get.call(this);
      return date => bound(date === undefined ? now() : date);
    } });
    put(Intl.DateTimeFormat.prototype, 'formatToParts', function (date) {
      return formatToParts.call(this, date === undefined ? now() : date);
    });
    if (scope.Temporal) {
      const instant = () => Temporal.Instant.fromEpochMilliseconds(now());
      const zoned = (zone = Temporal.Now.timeZoneId()) => instant().toZonedDateTimeISO(zone);
      put(Temporal.Now, 'instant', instant);
      put(Temporal.Now, 'zonedDateTimeISO', zoned);
      for (const part of ['DateTime', 'Date', 'Time'])
        put(Temporal.Now, 'plain' + part + 'ISO', zone => zoned(zone)['toPlain' + part]());
    }
    defineProperty(performance, 'timeOrigin', { get: () => start, configurable: true });
    if (!settings.stepped) return;

    put(performance, 'now', () => time - start);
    for (const name of ['getEntries', 'getEntriesByType', 'getEntriesByName']) put(performance, name, () => []);
    const stamps = new WeakMap();
    defineProperty(Event.prototype, 'timeStamp', { configurable: true, enumerable: true, get() {
      if (!stamps.has(this)) stamps.set(this, time - start);
      return stamps.get(this);
    } });
    const timers = new Map();
    let last = 0;
    const add = (call, delay, every) => {
      timers.set(++last, { id: last, at: time + delay, call, every });
      return last;
    };
    const calling = (handler, values) => typeof handler === 'function'
      ? () => handler.apply(scope, values) : () => (0, eval)(String(handler));
    const span = delay => Math.max(0, Math.trunc(Number(delay)) || 0);
    put(scope, 'setTimeout', (handler, delay, ...values) => add(calling(handler, values), span(delay), null));
    put(scope, 'setInterval', (handler, delay, ...values) => {
      const every = Math.max(1, span(delay));
      return add(calling(handler, values), every, every);
    });
    const clear = id => { timers.delete(Number(id)); };
    put(scope, 'clearTimeout', clear);
    put(scope, 'clearInterval', clear);
    if (scope.requestAnimationFrame) {
      put(scope, 'requestAnimationFrame', call => add(() => call(time - start), 16 - (time - start) % 16, null));
      put(scope, 'cancelAnimationFrame', clear);
    }
    AbortSignal.timeout = delay => {
      const control = new AbortController();
      add(() => control.abort(new DOMException('signal timed out', 'TimeoutError')), span(delay), null);
      return control.signal;
    };
    const turn = new MessageChannel();
    const turned = () => new Promise(done => {
      turn.port1.onmessage = done;
      turn.port2.postMessage(0);
    });
    untilTimer = () => {
      let first = NEVER;
      for (const each of timers.values()) first = Math.min(first, each.at - time);
      return Math.max(0, first);
    };
    const due = to => {
      let first = null;
      for (const each of timers.values())
        if (each.at <= to && (first === null || each.at < first.at)) first = each;
      return first;
    };
    advance = async to => {
      for (let next = due(to); next !== null; next = due(to)) {
        time = Math.max(time, next.at);
        timers.delete(next.id);
        if (next.every !== null) timers.set(next.id, { ...next, at: next.at + next.every });
        try {
          next.call();
        } catch (error) {
          reportError(error);
        }
        await turned();
      }
      time = Math.max(time, to);
    };
  };

  // The workers started in this scope.
  const Native = scope.Worker;
  const native = Native && { postMessage: Native.prototype.postMessage, terminate: Native.prototype.terminate };
  const records = new Set();
  const recordOf = new WeakMap();
  let started = 0;
  let asked = 0;
  let prelude = null;
  const preludeAddress = () => prelude ??= createObjectURL.call(URL, new Blob([text()], { type: 'text/javascript' }));
  const strict = head => /^(\s|\/\/.*\n|\/\*[^]*?\*\/)*(["'])use strict\2/.test(head) ? '"use strict";' : '';

  const inData = (address) => {
    const [, head, body] = /^(data:[^,]*),([^]*)$/.exec(address) ?? [];
    if (head === undefined) return address;
    const source = text() + ' '.repeat((3 - text().length % 3) % 3);
    return head + ',' + (/;\s*base64\s*$/i.test(head) ? btoa(source) : encodeURIComponent(source)) + body;
  };
  const bootstrap = (address, type) => {
    const module = type === 'module';
    const options = { type: 'text/javascript' };
    const before = module ? 'import ' + JSON.stringify(preludeAddress()) + ';' : null;
    const blob = blobs.get(address.split('#')[0]);
    if (blob) return new Blob([before ?? strict(heads.get(blob) ?? '') + text(), blob], options);
    if (module) return new Blob([before, 'import ', JSON.stringify(address), ';'], options);
    return new Blob([text()], options);
  };
  const begin = (args, shared, target) => {
    const address = absolute(args[0]);
    const settingsOf = { ...(typeof args[1] === 'object' ? args[1] : shared ? { name: args[1] } : null) };
    const inline = /^(data|blob):/.test(address);
    if (!inline && new URL(address).origin !== scope.origin) return null;
    started += 1;
    const payload = {
      now: timeOf.now(),
      seed: (Math.imul(tagged ? startData.seed : own.seed ?? settings.seed, 0x85ebca6b) ^ Math.imul(started, 0x9e3779b1)) >>> 0,
      name: String(settingsOf.name ?? ''),
      url: inline ? null : address,
      load: !inline && settingsOf.type !== 'module',
      shared,
    };
    const place = address.startsWith('data:') ? inData(address)
      : createObjectURL.call(URL, bootstrap(address, settingsOf.type));
    try {
      return Reflect.construct(Native, [place, { ...settingsOf, name: mark + JSON.stringify(payload) }], target);
    } finally {
      if (place.startsWith('blob:')) revokeObjectURL.call(URL, place);
    }
  };

  const finish = record => {
    records.delete(record);
    for (const answer of record.waiting.values()) answer(ENDED);
    record.waiting.clear();
    record.ready({ fetches: 0 });
    record.unblock();
  };
  // If the page's policy rejects our script, start the worker as requested: with its own clock and randomness.
  const startNatively = record => {
    finish(record);
    record.state = 'native';
    let alive = false;
    native.terminate.call(record.worker);
    const tell = event => {
      if (!record.worker.dispatchEvent(event)) return true;
      return false;
    };
    try {
      record.inner = Reflect.construct(Native, record.args);
    } catch {
      tell(new Event('error', { cancelable: true }));
      return;
    }
    report('native', record.args[0]);
    for (const kind of ['message', 'messageerror']) {
      record.inner.addEventListener(kind, ({ data, ports }) => {
        alive = true;
        tell(new MessageEvent(kind, { data, ports: [...ports] }));
      });
    }
    record.inner.addEventListener('error', event => {
      const { message, filename, lineno, colno } = event;
      if (!alive && !(event instanceof ErrorEvent)) report('failed', record.args[0]);
      alive = true;
      const copy = event instanceof ErrorEvent
        ? new ErrorEvent('error', { message, filename, lineno, colno, cancelable: true })
        : new Event('error', { cancelable: true });
      if (tell(copy)) event.preventDefault();
    });
    for (const { message, transfer } of record.queue.splice(0)) native.postMessage.call(record.inner, message, transfer);
  };
  const onReport = (record, word) => {
    if (word.kind === 'started' && record.state === 'starting') {
      record.state = 'running';
      for (const { message, transfer } of record.queue.splice(0)) native.postMessage.call(record.worker, message, transfer);
      record.ready({ fetches: 0 });
      if (settings.stepped) ask(record, { kind: 'step', now: timeOf.now() });
    } else if (word.kind === 'refused') startNatively(record);
    else if (word.kind === 'closed') finish(record);
    else if (word.kind === 'blocked') record.block();
    else if (word.kind === 'unblocked') record.unblock();
    else if (word.kind === 'done') {
      record.waiting.get(word.id)?.(word);
      record.waiting.delete(word.id);
    }
  };
  const watch = (worker, args) => {
    const record = { worker, args, inner: null, state: 'starting', queue: [], waiting: new Map(), stuck: false,
      broken: false, inline: /^(data|blob):/.test(absolute(args[0])) };
    record.whenReady = new Promise(done => { record.ready = done; });
    record.unblock = () => {
      record.isBlocked = false;
      record.resume?.();
      record.whenUnblocked = new Promise(done => { record.resume = done; });
      record.whenBlocked = new Promise(done => {
        record.block = () => {
          record.isBlocked = true;
          done(BLOCKED);
        };
      });
    };
    record.unblock();
    records.add(record);
    recordOf.set(worker, record);
    worker.addEventListener('message', event => {
      const word = event.data?.[mark];
      if (word === undefined) return;
      event.stopImmediatePropagation();
      onReport(record, word);
    });
    worker.addEventListener('error', event => {
      if (record.state !== 'starting') return;
      if (event instanceof ErrorEvent) {
        record.broken = true;
        record.ready({ fetches: 0 });
        return;
      }
      event.stopImmediatePropagation();
      event.preventDefault();
      startNatively(record);
    });
    return worker;
  };
  const start = (args, target, shared) => {
    let worker = null;
    try {
      worker = args.length ? begin(args, shared, target) : null;
    } catch {
      worker = null;
    }
    if (worker !== null) return watch(worker, args);
    worker = Reflect.construct(Native, args, target);
    let alive = false;
    report('native', args[0]);
    worker.addEventListener('message', () => { alive = true; }, { once: true });
    worker.addEventListener('error', event => {
      if (!alive && !(event instanceof ErrorEvent)) report('failed', args[0]);
    }, { once: true });
    return worker;
  };

  // A worker that computes forever, or sleeps until it is woken, would block everything: wait for it once.
  const LIMIT = page ? 3000 : 2000;
  const SOON = 20;
  // What workers are doing: open fetches, starting ones, and the page time to the next timer, 0 if unknown. A worker
  // blocked by a request counts as one whose script is loading.
  const BLOCKED = { fetches: 0, starting: 1, untilTimer: 0 };
  const STUCK = { fetches: 0, starting: 0, untilTimer: 0 };
  const ENDED = { fetches: 0, starting: 0, untilTimer: NEVER };
  const stopWaiting = (record, promise) => {
    if (!record.stuck) report('stuck', record.args[0]);
    record.stuck = true;
    promise.then(() => { record.stuck = false; });
  };
  const inTime = async (record, promise) => {
    let timer = null;
    const late = new Promise(done => { timer = realTimeout(() => done(null), LIMIT); });
    const word = await Promise.race([promise, late, record.whenBlocked]);
    realClear(timer);
    if (word === null) stopWaiting(record, promise);
    return word ?? STUCK;
  };
  const ask = async (record, question) => {
    if (record.stuck) return STUCK;
    if (record.state === 'starting' && record.inline) await inTime(record, record.whenReady);
    else if (record.state === 'starting') {
      const soon = new Promise(done => realTimeout(() => done(null), SOON));
      if (await Promise.race([record.whenReady, soon]) === null && records.has(record)) return BLOCKED;
    }
    if (record.state !== 'running' || !records.has(record)) return ENDED;
    const id = ++asked;
    const answer = new Promise(done => record.waiting.set(id, done));
    native.postMessage.call(record.worker, { [mark]: { ...question, id } });
    return inTime(record, answer);
  };
  const askAll = async question => {
    const sum = { ...ENDED };
    for (const record of [...records]) {
      // A starting worker gets the time once it has started.
      if (question.kind === 'step' && record.state === 'starting') continue;
      const word = await ask(record, question);
      sum.fetches += word.fetches;
      sum.starting += word.starting;
      sum.untilTimer = Math.min(sum.untilTimer, word.untilTimer);
    }
    return sum;
  };

  if (Native) {
    const { createObjectURL: create, revokeObjectURL: revoke } = URL;
    put(URL, 'createObjectURL', function createObjectURL(thing) {
      const address = create.call(URL, thing);
      if (thing instanceof Blob) blobs.set(address, thing);
      return address;
    });
    put(URL, 'revokeObjectURL', function revokeObjectURL(address) {
      blobs.delete(String(address));
      return revoke.call(URL, address);
    });
    scope.Blob = new Proxy(Blob, {
      construct(made, values, target) {
        const blob = Reflect.construct(made, values, target);
        const first = Array.isArray(values[0]) ? values[0][0] : null;
        if (typeof first === 'string') heads.set(blob, first.slice(0, 400));
        return blob;
      },
    });
    put(Blob.prototype, 'constructor', scope.Blob);
    put(scope, 'Worker', new Proxy(Native, { construct: (_, args, target) => start(args, target === scope.Worker ? Native : target, false) }));
    put(Native.prototype, 'constructor', scope.Worker);
    put(Native.prototype, 'postMessage', function postMessage(...values) {
      const record = recordOf.get(this);
      if (!record || record.state !== 'starting' || !values.length) {
        native.postMessage.apply(record?.inner ?? this, values);
        return;
      }
      const transfer = [...(values[1]?.[Symbol.iterator] ? values[1] : values[1]?.transfer ?? [])];
      record.queue.push(structuredClone({ message: values[0], transfer }, { transfer }));
    });
    put(Native.prototype, 'terminate', function terminate() {
      const record = recordOf.get(this);
      if (record) {
        finish(record);
        record.queue.length = 0;
        if (record.state === 'starting') record.state = 'ended';
        if (record.inner) native.terminate.call(record.inner);
      }
      return native.terminate.call(this);
    });
  }

  // A shared worker sends requests past every route: make it a worker of the document, shared among its documents.
  if (page && scope.SharedWorker) {
    const shared = new Map();
    put(scope, 'SharedWorker', class SharedWorker extends EventTarget {
      onerror = null;
      constructor(...args) {
        super();
        const key = JSON.stringify([absolute(args[0]), typeof args[1] === 'object' ? args[1] : { name: args[1] ?? '' }]);
        if (!shared.has(key)) shared.set(key, start(args, Native, true));
        const worker = shared.get(key);
        const { port1, port2 } = new MessageChannel();
        this.port = port1;
        worker.addEventListener('error', () => {
          const event = new Event('error');
          this.onerror?.(event);
          this.dispatchEvent(event);
        });
        worker.postMessage({ [mark]: { kind: 'connect', port: port2 } }, [port2]);
      }
    });
  }

  if (page) {
    own.workerCount = () => records.size;
    own.stepWorkers = async () => { if (records.size) await askAll({ kind: 'step', now: Date.now() }); };
    // A starting worker waits for its script, which may be delivered later: the document counts as loading.
    let starting = 0;
    own.settleWorkers = async () => {
      const word = records.size ? await askAll({ kind: 'rest' }) : ENDED;
      starting = word.starting;
      return word;
    };
    own.hasStartingWorkers = () => records.size > 0 && starting > 0;
    own.ignoreWorkers = () => {
      for (const record of records) {
        if (record.state === 'starting' && !record.broken) stopWaiting(record, record.whenReady);
        else if (record.isBlocked) stopWaiting(record, record.whenUnblocked);
      }
    };
    return;
  }

  makeDeterministic(scope, tagged ? startData.seed : settings.seed, settings.drawsMath);
  applyMachine();
  if (!tagged) return;
  const { postMessage, close, importScripts } = scope;
  const postReport = word => postMessage.call(scope, { [mark]: word });
  applyLocation();
  countFetches();
  reportBlocking();
  applyClock();
  if (startData.shared) {
    put(scope, 'postMessage', undefined);
    put(scope, 'onconnect', null);
  }
  put(scope, 'close', () => {
    postReport({ kind: 'closed' });
    close.call(scope);
  });
  const answers = {
    step: async ({ now }) => {
      await advance(now);
      return askAll({ kind: 'step', now });
    },
    rest: () => askAll({ kind: 'rest' }),
    connect: ({ port }) => {
      const event = new MessageEvent('connect', { data: '', ports: [port], source: port });
      scope.onconnect?.(event);
      scope.dispatchEvent(event);
    },
  };
  let turnOf = Promise.resolve();
  scope.addEventListener('message', event => {
    const word = event.data?.[mark];
    if (word === undefined) return;
    event.stopImmediatePropagation();
    if (word.kind === 'connect') {
      answers.connect(word);
      return;
    }
    turnOf = turnOf.then(() => answers[word.kind](word)).then(
      below => postReport({ kind: 'done', id: word.id, fetches: fetches() + below.fetches, starting: below.starting,
        untilTimer: Math.min(untilTimer(), below.untilTimer) }));
  });
  if (!startData.load) {
    postReport({ kind: 'started' });
    return;
  }
  // Loaded here, a script keeps its own URL, its strictness and its line numbers.
  let loaded = false;
  scope.addEventListener('error', event => {
    if (loaded) return;
    const { message } = event;
    const refused = message.includes('NetworkError') && message.includes(startData.url) || message.includes('TrustedScriptURL');
    if (refused) {
      event.stopImmediatePropagation();
      event.preventDefault();
    }
    postReport({ kind: refused ? 'refused' : 'started' });
  }, { once: true });
  importScripts.call(scope, startData.url);
  loaded = true;
  postReport({ kind: 'started' });
})
