// Runs in every document of a sealed replay before its own scripts: shows the recorded reason phrases to scripts. A
// fulfilled response has the standard phrase of its status; servers have others, and none with HTTP/2. `texts` are by status
// and URL; responses of `silent` origins have none.
((texts, silent) => {
  const { URL, Set, Object, Reflect } = window;
  const origins = new Set(silent);
  const known = new window.Map(Object.entries(texts));
  const phrase = (native, status, address) => {
    const url = address.split('#')[0];
    return known.get(`${status} ${url}`) ?? (/^https?:/.test(url) && origins.has(new URL(url).origin) ? '' : native);
  };
  const patch = (prototype, addressName) => {
    const own = Object.getOwnPropertyDescriptor(prototype, 'statusText');
    const { get } = Object.getOwnPropertyDescriptor({
      get statusText() {
        const native = Reflect.apply(own.get, this, []);
        return native && phrase(native, this.status, this[addressName]);
      },
    }, 'statusText');
    Object.defineProperty(prototype, 'statusText', { ...own, get });
  };
  patch(window.Response.prototype, 'url');
  patch(window.XMLHttpRequest.prototype, 'responseURL');
})
