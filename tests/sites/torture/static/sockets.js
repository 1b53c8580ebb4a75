"use strict";

const connect = (path, protocols = []) => new WebSocket(`ws://${location.host}/ws/${path}`, protocols);
const frame = async (socket) => (await happens(socket, "message")).data;

/** End an item whose socket ends too early. */
function watch(socket, done) {
  socket.addEventListener("close", (event) => event.wasClean || done(`broke off ${event.code}`));
  return socket;
}

item("ws-echo", {
  async run({ say, done }) {
    const socket = watch(connect("echo"), done);
    await happens(socket, "open");
    for (const word of ["one", "two", "three"]) {
      socket.send(word);
      say(await frame(socket));
    }
    socket.close();
    const end = await happens(socket, "close");
    done(`closed ${end.code} ${end.wasClean}`);
  },
});

item("ws-several", {
  run({ say, done }) {
    let open = 3;
    for (const name of ["a", "b", "c"]) {
      const socket = watch(connect(`named/${name}`), done);
      socket.onopen = () => socket.send("hello");
      socket.onmessage = (event) => {
        say(event.data);
        open -= 1;
        if (!open) done("all heard");
      };
    }
  },
});

item("ws-turns", {
  async run({ say, done }) {
    const socket = watch(connect("turns"), done);
    let turn = 0;
    let heard = 0;
    const next = () => {
      turn += 1;
      heard = 0;
      if (turn > 3) return done("three turns");
      say(`ask ${turn}`);
      socket.send(`turn ${turn}`);
    };
    socket.onmessage = (event) => {
      say(event.data);
      heard += 1;
      if (heard === turn) next();
    };
    socket.onopen = next;
  },
});

item("ws-push", {
  run({ say, done }) {
    const socket = watch(connect("push"), done);
    socket.onmessage = (event) => say(event.data);
    socket.onclose = (event) => done(`closed ${event.code}`);
  },
});

item("ws-binary", {
  async run({ say, done }) {
    const socket = watch(connect("binary"), done);
    await happens(socket, "open");
    socket.binaryType = "arraybuffer";
    socket.send(Uint8Array.from({ length: 256 }, (_, index) => index));
    const small = await frame(socket);
    say(`${small.byteLength} bytes, first ${new Uint8Array(small)[0]}, sum ${checksum(small)}`);
    socket.binaryType = "blob";
    socket.send(new Blob([new Uint8Array(20000).fill(3), "end"]));
    const large = await frame(socket);
    done(`blob of ${large.size} bytes, sum ${checksum(await large.arrayBuffer())}`);
  },
});

item("ws-close", {
  run({ say, done }) {
    const socket = connect("close");
    socket.onmessage = (event) => say(event.data);
    socket.onclose = (event) => done(`closed ${event.code} ${event.reason} ${event.wasClean}`);
  },
});

item("ws-reconnect", {
  run({ say, done }) {
    let left = 3;
    const open = () => {
      const socket = connect("reconnect");
      socket.onmessage = (event) => say(event.data);
      socket.onclose = (event) => {
        say(`closed ${event.code} ${event.reason}`);
        left -= 1;
        if (left) setTimeout(open, 20);
        else done();
      };
    };
    open();
  },
});

item("ws-subprotocol", {
  async run({ say, done }) {
    const socket = watch(connect("subprotocol", ["v1.torture", "v2.torture"]), done);
    say(await frame(socket));
    done(`agreed on ${socket.protocol}`);
  },
});

item("ws-refused", {
  run({ say, done }) {
    const socket = connect("refused");
    socket.onopen = () => say("open");
    socket.onerror = () => say("error");
    socket.onclose = (event) => done(`closed ${event.code} ${event.wasClean}`);
  },
});

const act = async ({ say }) => say(await text("/ws/act", { method: "POST" }));

item("ws-notify", {
  run({ say, done }) {
    const socket = watch(connect("notify"), done);
    socket.onmessage = (event) => (event.data.startsWith("notice") ? done(event.data) : say(event.data));
  },
  first: act,
  second: act,
  third: act,
});

item("sse-messages", {
  run({ say, done }) {
    const source = new EventSource("/sse/messages");
    const tell = (event) => say(`${event.type} ${event.lastEventId}: ${event.data.replace("\n", " / ")}`);
    source.onopen = () => say("open");
    source.onmessage = tell;
    source.addEventListener("price", tell);
    source.addEventListener("note", (event) => {
      tell(event);
      source.close();
      done();
    });
    source.onerror = () => done("error");
  },
});

item("sse-action", {
  run({ say, done }) {
    const source = new EventSource("/sse/news");
    source.onmessage = (event) => say(event.data);
    source.addEventListener("news", (event) => {
      source.close();
      done(event.data);
    });
    source.onerror = () => done("error");
  },
  async act({ say }) {
    say(await text("/sse/news", { method: "POST" }));
  },
});

item("sse-resume", {
  run({ say, done }) {
    let heard = 0;
    let opened = 0;
    const source = new EventSource("/sse/resume");
    source.onopen = () => {
      opened += 1;
    };
    source.onmessage = (event) => {
      say(event.data);
      heard += 1;
      if (heard === 6) {
        source.close();
        done(`opened ${opened} times`);
      }
    };
    source.onerror = () => source.readyState === EventSource.CLOSED && done("closed");
  },
});
