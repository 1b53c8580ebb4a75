// Runs in every document before its own scripts: fetches downloads of links in the page. The browser requests the
// target of a link with `download` past every route. Here the page fetches it, and saves it as a file:
// https://html.spec.whatwg.org/multipage/links.html#downloading-resources.
(() => {
  const own = window.__eikon__;
  if (own.fetchesDownloads || !window.navigation || !window.fetch) return;
  own.fetchesDownloads = true;
  const { fetch } = window;
  const { createObjectURL } = URL;
  const HEADER = /filename\*=(?:UTF-8'[^']*')([^;]+)|filename="((?:[^"\\]|\\.)*)"|filename=([^;]+)/i;
  const named = header => {
    const [, encoded, quoted, plain] = HEADER.exec(header ?? '') ?? [];
    if (encoded) return decodeURIComponent(encoded.trim());
    return quoted?.replace(/\\(.)/g, '$1') ?? plain?.trim() ?? '';
  };
  const last = url => decodeURIComponent(new URL(url).pathname.split('/').pop());
  let passing = false;
  const download = (href, name) => {
    const link = document.createElement('a');
    link.href = href;
    link.download = name;
    passing = true;
    try {
      link.click();
    } finally {
      passing = false;
    }
  };

  window.navigation.addEventListener('navigate', event => {
    const { url } = event.destination;
    if (passing || event.downloadRequest === null || !event.cancelable || !/^https?:/.test(url)) return;
    event.preventDefault();
    own.pending += 1;
    Reflect.apply(fetch, window, [url]).then(async answer => {
      const name = named(answer.headers.get('content-disposition')) || event.downloadRequest || last(answer.url);
      download(createObjectURL(await answer.blob()), name);
    }).catch(() => download(url, event.downloadRequest)).finally(() => { own.pending -= 1; });
  });
})();
