// Runs in every document before its own scripts: counts work that the browser does off the main thread for a page, so
// that the page is not idle before its callbacks ran. Fetches are counted in init_determinism.js.
(() => {
  const own = window.__eikon__;
  if (own.working) return;
  const { finally: afterwards } = Promise.prototype;
  const { addEventListener } = EventTarget.prototype;
  const RealDate = window.__pwClock?.builtins?.Date ?? Date;
  const { now } = RealDate;
  // Until when each piece of work counts, in real time: one that takes longer may never end, such as a blocked database,
  // or the body of a response that does not come from a recording.
  const WORK_MS = 10000, BODY_MS = 2000;
  const works = new Set();
  own.working = () => {
    let young = 0;
    for (const work of works) young += now() < work.until;
    return young + startingFrames(isMissing);
  };
  // Frames whose documents come without a request, and are not there or not complete yet, but not for long.
  const framesSince = new WeakMap();
  const startingFrames = isStarting => {
    let starting = 0;
    for (const frame of own.ofDocument('querySelectorAll', 'iframe')) {
      if (!(frame instanceof HTMLIFrameElement) || frame.getAttribute('loading') === 'lazy') continue;
      if (!frame.hasAttribute('srcdoc') && !frame.getAttribute('src')?.startsWith('blob:')) continue;
      const inside = frame.contentDocument;
      if (!inside || !isStarting(inside)) {
        framesSince.delete(frame);
        continue;
      }
      if (!framesSince.has(frame)) framesSince.set(frame, now());
      starting += now() < framesSince.get(frame) + BODY_MS;
    }
    return starting;
  };
  const isMissing = inside => inside.URL === 'about:blank';
  own.startingFrames = () => startingFrames(inside => isMissing(inside) || inside.readyState !== 'complete');
  const begin = own.guardHook((longestMs = WORK_MS) => {
    const work = { until: now() + longestMs };
    works.add(work);
    return own.guardHook(() => { works.delete(work); });
  });
  const { apply } = Reflect;
  const counted = (place, names, follow) => {
    const followed = own.guardHook(follow);
    for (const name of names) {
      if (typeof place?.[name] !== 'function') continue;
      place[name] = new Proxy(place[name], {
        apply: (native, self, values) => followed(apply(native, self, values), self),
      });
    }
  };
  const promised = answer => Reflect.apply(afterwards, answer, [begin()]);
  const untilEvent = types => target => {
    const end = begin();
    for (const type of types) Reflect.apply(addEventListener, target, [type, end, { once: true }]);
    return target;
  };

  counted(Blob.prototype, ['arrayBuffer', 'bytes', 'text'], promised);
  // The browser may have a body some time before a script has read it, as a Blob through another process.
  counted(window.Response?.prototype, ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'], (answer, response) => {
    let isRead = false, end = () => {};
    const isCounted = own.onceWhole?.(response, () => {
      if (!isRead) end = begin(own.isSealed ? WORK_MS : BODY_MS);
    });
    return isCounted ? Reflect.apply(afterwards, answer, [() => { isRead = true; end(); }]) : answer;
  });
  counted(window, ['createImageBitmap'], promised);
  // An image still loading is waited for as a request, which may be delivered later, or never.
  counted(HTMLImageElement.prototype, ['decode'], (answer, image) => image.complete ? promised(answer) : answer);
  const { SubtleCrypto, CacheStorage, Cache, IDBFactory, IDBDatabase } = window;
  counted(SubtleCrypto?.prototype, ['encrypt', 'decrypt', 'sign', 'verify', 'digest', 'generateKey', 'deriveKey',
    'deriveBits', 'importKey', 'exportKey', 'wrapKey', 'unwrapKey'], promised);
  counted(CacheStorage?.prototype, ['open', 'match', 'has', 'delete', 'keys'], promised);
  counted(Cache?.prototype, ['match', 'matchAll', 'delete', 'keys'], promised);
  counted(IDBFactory?.prototype, ['databases'], promised);
  counted(IDBFactory?.prototype, ['open', 'deleteDatabase'], untilEvent(['success', 'error', 'blocked']));
  counted(IDBDatabase?.prototype, ['transaction'], untilEvent(['complete', 'abort']));
  counted(FileReader.prototype, ['readAsArrayBuffer', 'readAsBinaryString', 'readAsDataURL', 'readAsText'],
    (nothing, reader) => void untilEvent(['loadend'])(reader));
})();
