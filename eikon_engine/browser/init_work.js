// Runs in every document before its own scripts: counts work that the browser does for a page beside its main thread, so
// that the page is not at rest before it has been told. Fetches are counted in init_determinism.js.
(() => {
  const own = window.__eikon__;
  if (own.working) return;
  const { finally: afterwards } = Promise.prototype;
  const { addEventListener } = EventTarget.prototype;
  const RealDate = window.__pwClock?.builtins?.Date ?? Date;
  const { now } = RealDate;
  // When each piece of work began, in real time; what takes longer than this may never end, as a blocked database.
  const LONGEST_MS = 10000;
  const works = new Set();
  own.working = () => {
    let young = 0;
    for (const work of works) young += now() - work.began < LONGEST_MS;
    return young;
  };
  const begin = () => {
    const work = { began: now() };
    works.add(work);
    return () => { works.delete(work); };
  };
  const counted = (place, names, follow) => {
    for (const name of names) {
      if (typeof place?.[name] !== 'function') continue;
      place[name] = new Proxy(place[name], {
        apply: (native, self, values) => follow(Reflect.apply(native, self, values), self),
      });
    }
  };
  const promised = answer => Reflect.apply(afterwards, answer, [begin()]);
  const told = types => target => {
    const end = begin();
    for (const type of types) Reflect.apply(addEventListener, target, [type, end, { once: true }]);
    return target;
  };

  counted(Blob.prototype, ['arrayBuffer', 'bytes', 'text'], promised);
  counted(window, ['createImageBitmap'], promised);
  // An image that has not come is waited for as a request, which the recording may bring later, or never.
  counted(HTMLImageElement.prototype, ['decode'], (answer, image) => image.complete ? promised(answer) : answer);
  const { SubtleCrypto, CacheStorage, Cache, IDBFactory, IDBDatabase } = window;
  counted(SubtleCrypto?.prototype, ['encrypt', 'decrypt', 'sign', 'verify', 'digest', 'generateKey', 'deriveKey',
    'deriveBits', 'importKey', 'exportKey', 'wrapKey', 'unwrapKey'], promised);
  counted(CacheStorage?.prototype, ['open', 'match', 'has', 'delete', 'keys'], promised);
  counted(Cache?.prototype, ['match', 'matchAll', 'delete', 'keys'], promised);
  counted(IDBFactory?.prototype, ['databases'], promised);
  counted(IDBFactory?.prototype, ['open', 'deleteDatabase'], told(['success', 'error', 'blocked']));
  counted(IDBDatabase?.prototype, ['transaction'], told(['complete', 'abort']));
  counted(FileReader.prototype, ['readAsArrayBuffer', 'readAsBinaryString', 'readAsDataURL', 'readAsText'],
    (nothing, reader) => void told(['loadend'])(reader));
})();
