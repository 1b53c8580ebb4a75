// Runs in every document of an attached context before its own scripts: reports which side closes a WebSocket, with
// which code, and the content of sent Blobs; the DevTools protocol reports neither. Reports go over a binding that is
// removed before the page can see it; calls, events and errors stay unchanged.
(() => {
  const own = window.__eikon__;
  const binding = window.__eikon_sockets__;
  delete window.__eikon_sockets__;
  if (!binding || !window.WebSocket || own.capturesSockets) return;
  own.capturesSockets = true;
  const { WebSocket, FileReader, Blob } = window;
  const { stringify } = JSON;
  const { addEventListener } = EventTarget.prototype;
  const { get: readyState } = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'readyState');
  const tell = news => binding(stringify(news));
  const sockets = new WeakMap();
  let count = 0;
  let blobs = 0;

  const captured = new Proxy(WebSocket, {
    construct(native, values, target) {
      const made = Reflect.construct(native, values, target);
      const socket = count++;
      sockets.set(made, socket);
      tell({ kind: 'opened', socket });
      Reflect.apply(addEventListener, made, ['close', event => {
        if (event.isTrusted) tell({ kind: 'closed', socket, code: event.code, reason: event.reason });
      }]);
      return made;
    },
  });
  WebSocket.prototype.constructor = captured;
  window.WebSocket = captured;

  const stateOf = each => sockets.has(each) ? Reflect.apply(readyState, each, []) : 3;
  WebSocket.prototype.close = new Proxy(WebSocket.prototype.close, {
    apply(native, self, values) {
      const before = stateOf(self);
      const result = Reflect.apply(native, self, values);
      if (before < 2) {
        const [code, reason] = values;
        tell({
          kind: 'closing', socket: sockets.get(self),
          code: code === undefined ? null : Number(code), reason: reason === undefined ? '' : String(reason),
        });
      }
      return result;
    },
  });

  WebSocket.prototype.send = new Proxy(WebSocket.prototype.send, {
    apply(native, self, values) {
      const [sent] = values;
      if (!(sent instanceof Blob) || stateOf(self) !== 1) return Reflect.apply(native, self, values);
      const [socket, blob] = [sockets.get(self), blobs++];
      tell({ kind: 'blob', socket, blob });
      const result = Reflect.apply(native, self, values);
      const reader = new FileReader();
      reader.onload = () => tell({ kind: 'content', socket, blob, content: reader.result.slice(reader.result.indexOf(',') + 1) });
      reader.onerror = () => tell({ kind: 'content', socket, blob, content: null });
      reader.readAsDataURL(sent);
      return result;
    },
  });
})();
