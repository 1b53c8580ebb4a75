"use strict";

item("at-load", {
  async load({ say, done }) {
    await Promise.all(
      [80, 10, 45].map(async (delay) => say(await text(`/delayed/load${delay}?ms=${delay}`))),
    );
    done();
  },
});

item("methods", {
  async run({ say, done }) {
    const call = async (method, body) => {
      const response = await fetch("/notes/1", { method, body });
      say(`${method} ${response.status} ${await response.text()}`);
    };
    await call("GET");
    await call("PUT", "milk");
    await call("GET");
    await call("PATCH", ", eggs");
    await call("GET");
    await call("PUT", "bread");
    await call("GET");
    await call("DELETE");
    await call("GET");
    done();
  },
});

item("graphql", {
  async run({ say, done }) {
    const ask = async (operationName, query, variables = {}) => {
      const body = JSON.stringify({ operationName, query, variables });
      const options = { method: "POST", body, headers: { "Content-Type": "application/json" } };
      say(`${operationName} ${await text("/graphql", options)}`);
    };
    await ask("Viewer", "query Viewer { viewer { name } }");
    await ask("Cart", "query Cart { cart { total } }");
    await ask("Add", "mutation Add($count: Int!) { add(count: $count) { total } }", { count: 2 });
    await ask("Cart", "query Cart { cart { total } }");
    await ask("Add", "mutation Add($count: Int!) { add(count: $count) { total } }", { count: 3 });
    await ask("Cart", "query Cart { cart { total } }");
    done();
  },
});

item("polling", {
  run({ say, done }) {
    const timer = setInterval(async () => {
      const answer = await (await fetch("/poll")).json();
      say(`${answer.number} ${answer.state}`);
      if (answer.state === "done") {
        clearInterval(timer);
        done();
      }
    }, 200);
  },
});

item("cache-buster", {
  async run({ say, done }) {
    for (let turn = 0; turn < 3; turn += 1) {
      say(await text(`/fresh?_=${Date.now()}`));
      await pause(15);
    }
    done();
  },
});

item("negotiation", {
  async run({ say, done }) {
    const kinds = ["application/json", "text/html", "text/plain", "application/json"];
    await Promise.all(kinds.slice(0, 3).map((accept) => text("/negotiated", { headers: { accept } })))
      .then((answers) => answers.forEach((answer, index) => say(`${kinds[index]}: ${answer}`)));
    done(`again: ${await text("/negotiated", { headers: { accept: kinds[3] } })}`);
  },
});

item("preflight", {
  async run({ say, done }) {
    const options = { method: "PUT", headers: { "X-Torture": "custom", "Content-Type": "text/plain" }, body: "body" };
    const response = await fetch(`${other}/cors/open`, options);
    say(`${response.status} ${response.type} ${await response.text()}`);
    say(`seen ${response.headers.get("X-Seen")}, unseen ${response.headers.get("X-UnobservedActions")}`);
    done(await text(`${other}/cors/open`));
  },
});

item("cors-closed", {
  async run({ say, done }) {
    await fetch(`${other}/cors/closed`).then(
      () => say("allowed"),
      (error) => say(error.name),
    );
    const opaque = await fetch(`${other}/cors/closed`, { mode: "no-cors" });
    done(`no-cors: ${opaque.type} ${opaque.status}`);
  },
});

item("parallel", {
  async run({ say, done }) {
    const delays = [150, 30, 120, 60, 0, 90];
    await Promise.all(delays.map(async (delay) => say(await text(`/delayed/p${delay}?ms=${delay}`))));
    done();
  },
});

item("aborted", {
  async run({ say, done }) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    await text("/delayed/given-up?ms=400", { signal: controller.signal }).then(say, (error) => say(error.name));
    const early = new AbortController();
    early.abort();
    await text("/delayed/not-sent?ms=0", { signal: early.signal }).then(say, (error) => say(error.name));
    done(await text("/notes/none"));
  },
});

item("broken", {
  async run({ say, done }) {
    await text("/broken").then(say, (error) => say(`GET ${error.name}`));
    await text("/broken", { method: "POST", body: "x" }).then(say, (error) => say(`POST ${error.name}`));
    done(await text("/notes/none"));
  },
});

item("never", {
  async run({ done }) {
    done(await Promise.race([text("/never"), pause(300).then(() => "nothing within 300 ms")]));
  },
});

item("no-content", {
  async run({ done }) {
    const response = await fetch("/nothing");
    done(`${response.status} ${response.headers.get("X-Torture")} "${await response.text()}"`);
  },
});

item("not-modified", {
  async run({ say, done }) {
    const ask = async (tag) => {
      const response = await fetch("/tagged", { headers: tag ? { "If-None-Match": tag } : {} });
      say(`${response.status} ${response.headers.get("ETag")} "${await response.text()}"`);
      return response.headers.get("ETag");
    };
    const tag = await ask();
    await ask(tag);
    say(await text("/tagged", { method: "POST" }));
    await ask(tag);
    done();
  },
});

item("head", {
  async run({ done }) {
    const response = await fetch("/bytes/head", { method: "HEAD" });
    const header = (name) => response.headers.get(name);
    done(`${response.status} ${header("Content-Length")} ${header("X-Torture")} "${await response.text()}"`);
  },
});

item("sync-xhr", {
  run({ say, done }) {
    for (const name of ["before", "after"]) {
      const request = new XMLHttpRequest();
      request.open("GET", `/delayed/sync-${name}?ms=30`, false);
      request.send();
      say(`${request.status} ${request.responseText}`);
    }
    done();
  },
});

item("xhr-events", {
  run({ say, done }) {
    const request = new XMLHttpRequest();
    const seen = [];
    for (const name of ["readystatechange", "loadstart", "load", "loadend", "error"]) {
      request.addEventListener(name, () => seen.push(name === "readystatechange" ? request.readyState : name));
    }
    request.upload.addEventListener("load", (event) => seen.push(`sent ${event.specifiers}`));
    request.addEventListener("loadend", () => {
      say(seen.filter((what, index) => what !== seen[index - 1]).join(" "));
      done(`${request.status} ${request.response.byteLength} ${checksum(request.response)}`);
    });
    request.open("POST", "/bytes/inverted");
    request.responseType = "arraybuffer";
    request.send(new Uint8Array(500).fill(9));
  },
});

item("beacon", {
  async run({ say, done }) {
    say(navigator.sendBeacon("/arrive/beacon", "text of the beacon"));
    done(await text("/arrived/beacon"));
  },
});
