// Runs in every document of an attached context before its own scripts: reports each WebSocket, what the server chose,
// which side closes it with which code, the content of sent Blobs, and empty messages. Calls, events and errors stay unchanged.
(() => {
  const own = window.__eikon__;
  if (!own.report || !window.WebSocket || own.capturesSockets) return;
  own.capturesSockets = true;
  const { WebSocket, FileReader, Blob } = window;
  const { addEventListener } = EventTarget.prototype;
  const { get: readyState } = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'readyState');
  const tell = news => own.report({ subject: 'socket', ...news });
  const sockets = new WeakMap();
  const isEmpty = data => data === '' || data.byteLength === 0 || data.size === 0;
  const emptyMessage = (socket, sender, data) => ({ kind: 'empty', socket, sender, binary: data !== '' });
  let count = 0;
  let blobs = 0;

  const captured = new Proxy(WebSocket, {
    construct(native, values, target) {
      const made = Reflect.construct(native, values, target);
      const socket = count++;
      sockets.set(made, socket);
      tell({ kind: 'opened', socket, url: made.url });
      Reflect.apply(addEventListener, made, ['open', event => {
        const { protocol, extensions } = made;
        if (event.isTrusted) tell({ kind: 'accepted', socket, protocol, extensions });
      }]);
      Reflect.apply(addEventListener, made, ['message', event => {
        if (event.isTrusted && isEmpty(event.data)) tell(emptyMessage(socket, 'server', event.data));
      }]);
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
      const socket = sockets.get(self);
      if (stateOf(self) !== 1 || !values.length) return Reflect.apply(native, self, values);
      if (!(sent instanceof Blob)) {
        const isOfBytes = ArrayBuffer.isView(sent) || sent instanceof ArrayBuffer;
        const data = isOfBytes ? sent : `${sent}`;
        if (isEmpty(data)) tell(emptyMessage(socket, 'page', data));
        return Reflect.apply(native, self, [data]);
      }
      const blob = blobs++;
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
