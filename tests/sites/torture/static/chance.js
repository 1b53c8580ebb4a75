"use strict";

item("timers", {
  run({ say, done }) {
    const order = [];
    setTimeout(() => order.push("30"), 30);
    setTimeout(() => order.push("0"), 0);
    setTimeout(() => {
      order.push("10");
      setTimeout(() => order.push("10+5"), 5);
      setTimeout(() => order.push("10+40"), 40);
    }, 10);
    let ticks = 0;
    const quick = setInterval(() => {
      ticks += 1;
      if (ticks === 20) clearInterval(quick);
    }, 0);
    let slow = 0;
    const steady = setInterval(() => {
      slow += 1;
      if (slow < 5) return;
      clearInterval(steady);
      say(order.join(" "));
      done(`${ticks} quick ticks, ${slow} slow ticks`);
    }, 60);
  },
});

item("recursive-timer", {
  run({ done }) {
    let depth = 0;
    const again = () => {
      depth += 1;
      if (depth < 25) setTimeout(again, depth % 3);
      else done(`depth ${depth}`);
    };
    again();
  },
});

item("frames-60", {
  run({ done }) {
    let frames = 0;
    const begin = performance.now();
    const next = (now) => {
      frames += 1;
      if (frames < 60) requestAnimationFrame(next);
      else done(`${frames} frames, ${Math.round(now - begin)} ms`);
    };
    requestAnimationFrame(next);
  },
});

item("clock", {
  async run({ say, done }) {
    say(`now ${Date.now()} ${performance.now()}`);
    say(new Date().toString());
    say(new Intl.DateTimeFormat("de", { dateStyle: "full", timeStyle: "long" }).format(new Date()));
    say(`${new Date(2026, 6, 1).getTimezoneOffset()} ${Intl.DateTimeFormat().resolvedOptions().timeZone}`);
    await pause(100);
    done(`then ${Date.now()} ${performance.now()}`);
  },
});

item("random", {
  run({ say, done }) {
    say([Math.random(), Math.random(), Math.random()].join(" "));
    say(crypto.randomUUID());
    done(Array.from(crypto.getRandomValues(new Uint8Array(8))).join(" "));
  },
});

const source = `
  const uuid = self.crypto.randomUUID ? crypto.randomUUID() : "none";
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(4))).join(" ");
  const later = () => postMessage("later " + Date.now() + " " + performance.now());
  postMessage(["random " + Math.random(), "uuid " + uuid, "bytes " + bytes,
    "now " + Date.now() + " " + performance.now()].join("\\n"));
  setTimeout(later, 50);
`;

function listen(worker, { say, done }) {
  worker.onmessage = (event) => (event.data.startsWith("later") ? done(event.data) : say(event.data));
  worker.onerror = () => done("the worker failed");
}

item("worker-blob", {
  run(tell) {
    listen(new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))), tell);
  },
});

item("worker-data", {
  run(tell) {
    listen(new Worker(`data:text/javascript,${encodeURIComponent(source)}`), tell);
  },
});

item("worker-url", {
  run(tell) {
    listen(new Worker("/static/worker.js"), tell);
  },
});

item("worker-module", {
  run(tell) {
    listen(new Worker("/static/worker_module.js", { type: "module" }), tell);
  },
});

item("transition", {
  async run({ say, done }) {
    const box = document.getElementById("transition-box");
    for (const name of ["transitionrun", "transitionstart", "transitionend"]) {
      box.addEventListener(name, (event) => say(`${name} ${event.propertyName}`));
    }
    box.classList.add("wide");
    await happens(box, "transitionend");
    done(`width ${getComputedStyle(box).width}`);
  },
});

item("animation", {
  async run({ say, done }) {
    const box = document.getElementById("animation-box");
    for (const name of ["animationstart", "animationiteration"]) {
      box.addEventListener(name, (event) => say(`${name} ${event.animationName}`));
    }
    box.classList.add("moving");
    const end = await happens(box, "animationend");
    done(`animationend ${end.animationName}`);
  },
});

item("idle", {
  run({ say, done }) {
    requestIdleCallback(() => {
      say("idle");
      requestIdleCallback((deadline) => done(`again, timed out ${deadline.didTimeout}`));
    });
  },
});

item("channel", {
  run({ say, done }) {
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = (event) => port2.postMessage(event.data + 1);
    port1.onmessage = (event) => {
      Promise.resolve().then(() => say(`micro ${event.data}`));
      say(`message ${event.data}`);
      if (event.data < 5) port1.postMessage(event.data);
      else setTimeout(() => done("end"), 0);
    };
    port1.postMessage(0);
    queueMicrotask(() => say("microtask"));
    say("sync");
  },
});

item("late", {
  run({ say, done }) {
    say("waiting");
    setTimeout(() => done("20 seconds later"), 20000);
  },
});
