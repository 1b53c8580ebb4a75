// Runs in every document before its own scripts: counts work that the browser does for a page beside its main thread, so
// that the page is not at rest before it has been told. Fetches are counted in init_determinism.js.
(() => {
  const own = window.__eikon__;
  if (own.countsWork) return;
  own.countsWork = true;
  const begin = () => {
    own.pending += 1;
    let ends = () => { own.pending -= 1; ends = () => {}; };
    return () => ends();
  };
  const counted = (place, names, follow) => {
    for (const name of names) {
      if (typeof place?.[name] !== 'function') continue;
      place[name] = new Proxy(place[name], {
        apply: (native, self, values) => follow(Reflect.apply(native, self, values), self),
      });
    }
  };
  const promised = answer => answer.finally(begin());
  const told = types => target => {
    const end = begin();
    for (const type of types) target.addEventListener(type, end, { once: true });
    return target;
  };

  counted(Blob.prototype, ['arrayBuffer', 'bytes', 'text'], promised);
  counted(window, ['createImageBitmap'], promised);
  counted(HTMLImageElement.prototype, ['decode'], promised);
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
