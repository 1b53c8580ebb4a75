// A worker of any kind that goes one way out, named in its own address.
const to = "{{TO}}";
const ways = {
  fetch: () => fetch(to, { mode: "no-cors" }),
  websocket: () => new WebSocket(to.replace("http", "ws")),
  "event-source": () => new EventSource(to),
  xhr: () => {
    const request = new XMLHttpRequest();
    request.open("GET", to);
    request.send();
  },
  "import-scripts": () => importScripts(`${to}.js`),
  import: () => import(`${to}.js`),
  nested: () => new Worker(location.href.replace("do=nested", "do=fetch")),
  nothing: () => {},
};
ways[new URL(location.href).searchParams.get("do")]();
