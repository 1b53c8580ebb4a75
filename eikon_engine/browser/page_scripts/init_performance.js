// Runs in every document before its own scripts: gives `performance` the entries, marks and timing of the document, at
// times of the page clock. The clock replaces it by an object without any: https://w3c.github.io/navigation-timing,
// https://w3c.github.io/user-timing.
(() => {
  const real = window.__pwClock?.builtins?.performance;
  const shown = window.performance;
  if (!real || shown === real || !real.timing) return;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const now = () => Math.max(0, shown.now());
  const put = (name, value) => defineProperty(shown, name, { value, configurable: true, enumerable: true, writable: true });
  const read = (name, get, set) => defineProperty(shown, name, { get, set, configurable: true, enumerable: true });

  // When the document reached each state; the network takes no page time.
  const reached = { interactive: 1, complete: 1 };
  document.addEventListener('readystatechange', () => { reached[document.readyState] = Math.max(1, now()); }, true);
  const START = 0, ANSWERED = 1;
  const times = {
    unloadEventStart: START, unloadEventEnd: START, redirectStart: START, redirectEnd: START, fetchStart: START,
    domainLookupStart: START, domainLookupEnd: START, connectStart: START, secureConnectionStart: START,
    connectEnd: START, requestStart: START, responseStart: ANSWERED, responseEnd: ANSWERED, domLoading: ANSWERED,
    domInteractive: 'interactive', domContentLoadedEventStart: 'interactive', domContentLoadedEventEnd: 'interactive',
    domComplete: 'complete', loadEventStart: 'complete', loadEventEnd: 'complete',
  };
  // What has not happened yet is 0, in the browser's own timing too.
  const reachedAt = name => {
    const at = times[name] ?? START;
    return typeof at === 'number' ? at : real.timing[name] ? reached[at] : 0;
  };
  const timing = Object.create(getPrototypeOf(real.timing));
  // Whether there was a redirect, a secure connection or an earlier document depends on how a replay loads a document.
  const NEVER = new Set(['redirectStart', 'redirectEnd', 'secureConnectionStart', 'unloadEventStart', 'unloadEventEnd']);
  for (const name of ['navigationStart', ...Object.keys(times)]) {
    const happens = () => name === 'navigationStart' || (!NEVER.has(name) && real.timing[name] > 0);
    defineProperty(timing, name, { enumerable: true, get: () => happens() ? shown.timeOrigin + reachedAt(name) : 0 });
  }
  put('timing', timing);
  defineProperty(timing, 'toJSON', { value: () => ({ ...timing }) });

  const withJson = (entry, names) => defineProperty(entry, 'toJSON', {
    value: () => Object.fromEntries(names.map(name => [name, entry[name]])), configurable: true,
  });
  const entryOf = (prototype, values, names = Object.keys(values)) => {
    const entry = Object.create(prototype);
    for (const name of Object.keys(values)) {
      defineProperty(entry, name, { value: values[name], enumerable: true, configurable: true });
    }
    return withJson(entry, names);
  };
  // A copy of an entry of the browser with other times; the browser draws the ids of navigations.
  const withTimes = (entry, changes) => {
    const values = {};
    for (const name in entry) if (typeof entry[name] !== 'function') values[name] = entry[name];
    Object.assign(values, changes, 'navigationId' in values ? { navigationId: 1 } : {});
    return entryOf(getPrototypeOf(entry), values, Object.keys(entry.toJSON()));
  };
  // What depends on the connection, and on whether a response is recorded.
  const CONNECTION = {
    secureConnectionStart: 0, workerStart: 0, firstInterimResponseStart: 0, redirectStart: 0, redirectEnd: 0,
    redirectCount: 0, nextHopProtocol: 'http/1.1', deliveryType: '', serverTiming: [],
  };
  const sizes = entry => ({ encodedBodySize: entry.decodedBodySize, transferSize: entry.decodedBodySize });
  // The entry of the document changes while it loads: libraries hold it until then.
  let ownEntry = null;
  const navigation = entry => {
    if (ownEntry) return ownEntry;
    ownEntry = withTimes(entry, {
      ...CONNECTION, startTime: 0, activationStart: 0, criticalCHRestart: 0,
      finalResponseHeadersStart: ANSWERED, confidence: { randomizedTriggerRate: 0, value: 'high' },
    });
    const live = Object.keys(times).filter(name => name !== 'domLoading' && !(name in CONNECTION));
    for (const [name, source] of [...live.map(each => [each, each]), ['duration', 'loadEventEnd']])
      defineProperty(ownEntry, name, { enumerable: true, get: () => reachedAt(source) });
    const size = () => real.timing.responseEnd > 0 ? entry.decodedBodySize : 0;
    for (const name of ['decodedBodySize', 'encodedBodySize', 'transferSize'])
      defineProperty(ownEntry, name, { enumerable: true, get: size });
    return ownEntry;
  };
  const seen = new WeakMap();
  const RESOURCE_TIMES = ['startTime', 'fetchStart', 'domainLookupStart', 'domainLookupEnd', 'connectStart', 'connectEnd',
    'requestStart', 'responseStart', 'responseEnd', 'finalResponseHeadersStart'];
  const resource = entry => {
    if (!seen.has(entry)) {
      const at = now();
      const all = Object.fromEntries(RESOURCE_TIMES.map(name => [name, at]));
      seen.set(entry, withTimes(entry, { ...CONNECTION, ...sizes(entry), ...all, duration: 0 }));
    }
    return seen.get(entry);
  };
  const paint = name => entryOf(PerformancePaintTiming.prototype,
    { name, entryType: 'paint', startTime: reached.complete, duration: 0, navigationId: 1 });
  // Whether a document was painted yet depends on the machine; a loaded one is.
  const paints = () => document.readyState === 'complete' ? ['first-paint', 'first-contentful-paint'].map(paint) : [];
  const ofType = type => {
    const found = real.getEntriesByType(type);
    switch (type) {
      case 'mark': case 'measure': return found.map(entry => withTimes(entry));
      case 'navigation': return found.map(navigation);
      case 'resource': return found.map(resource);
      case 'paint': return paints();
      default: return [];
    }
  };
  const all = () => ['navigation', 'resource', 'paint', 'mark', 'measure'].flatMap(ofType)
    .sort((one, other) => one.startTime - other.startTime);
  put('getEntriesByType', function getEntriesByType(type) { return ofType(`${type}`); });
  put('getEntries', function getEntries() { return all(); });
  put('getEntriesByName', function getEntriesByName(name, type) {
    return (type === undefined ? all() : ofType(`${type}`)).filter(entry => entry.name === `${name}`);
  });

  put('mark', function mark(name, options) {
    return withTimes(real.mark(name, { ...options, startTime: options?.startTime ?? now() }));
  });
  // A mark, a time, or a moment of the document, such as `domComplete`.
  const moment = value => typeof value === 'string' && !real.getEntriesByName(value, 'mark').length && Object.hasOwn(timing, value)
    ? timing[value] - shown.timeOrigin : value;
  put('measure', function measure(name, start, end) {
    const given = start !== null && typeof start !== 'object' ? { start, end } : start ?? {};
    const range = { ...given, start: moment(given.start), end: moment(given.end) };
    const isOpen = range.end === undefined && (range.duration === undefined || range.start === undefined);
    if (range.start === undefined && range.duration === undefined) range.start = 0;
    if (isOpen) range.end = now();
    for (const key of ['start', 'end']) if (range[key] === undefined) delete range[key];
    return withTimes(real.measure(name, range));
  });

  put('navigation', entryOf(PerformanceNavigation.prototype, { type: real.navigation.type, redirectCount: 0 }));
  put('memory', { jsHeapSizeLimit: 4294705152, totalJSHeapSize: 10000000, usedJSHeapSize: 10000000 });
  put('measureUserAgentSpecificMemory', async () => ({ bytes: 10000000, breakdown: [] }));
  put('toJSON', function toJSON() { return { timeOrigin: shown.timeOrigin, timing, navigation: shown.navigation }; });
  // Everything else is the browser's own.
  const own = new Set(['constructor', 'now', 'timeOrigin', 'timing', 'navigation', 'memory', 'mark', 'measure', 'toJSON',
    'getEntries', 'getEntriesByName', 'getEntriesByType', 'measureUserAgentSpecificMemory']);
  for (const prototype of [Performance.prototype, EventTarget.prototype]) {
    for (const name of Object.getOwnPropertyNames(prototype)) {
      if (own.has(name)) continue;
      const { value, set } = getOwnPropertyDescriptor(prototype, name);
      if (typeof value === 'function') put(name, value.bind(real));
      else read(name, () => real[name], set && (value => { real[name] = value; }));
    }
  }
  Object.setPrototypeOf(shown, Performance.prototype);
})();
