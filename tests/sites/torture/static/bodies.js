"use strict";

item("stream-chunks", {
  async run({ say, done }) {
    const response = await fetch("/stream/chunks");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let count = 0;
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      count += 1;
      say(`chunk ${count}: ${piece.value}`);
    }
    done(`${count} chunks`);
  },
});

item("stream-ndjson", {
  async run({ say, done }) {
    const reader = (await fetch("/stream/ndjson")).body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    let reads = 0;
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      reads += 1;
      const lines = (rest + decoder.decode(piece.value, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines) say(`read ${reads}: square ${JSON.parse(line).square}`);
    }
    done();
  },
});

item("binary", {
  async run({ say, done }) {
    for (const size of [1000, 70000]) {
      const sent = Uint8Array.from({ length: size }, (_, index) => (index * 13) % 256);
      const response = await fetch("/bytes/inverted", { method: "POST", body: sent });
      const back = await response.arrayBuffer();
      say(`${back.byteLength} bytes, sum ${checksum(back)}`);
    }
    done();
  },
});

item("encoded", {
  async run({ say, done }) {
    for (const encoding of ["gzip", "deflate"]) {
      const answer = await text(`/bytes/${encoding}`);
      say(`${encoding}: ${answer.length} characters, ${answer.slice(0, 20)}`);
    }
    done();
  },
});

item("ranges", {
  async run({ say, done }) {
    for (const range of ["bytes=0-99", "bytes=100-199", "bytes=-50", undefined, "bytes=0-99"]) {
      const response = await fetch("/bytes/ranged", { headers: range ? { Range: range } : {} });
      const body = await response.arrayBuffer();
      say(`${response.status} ${response.headers.get("Content-Range")} ${body.byteLength} sum ${checksum(body)}`);
    }
    done();
  },
});

item("cookies", {
  async run({ say, done }) {
    say(await text("/cookies/set"));
    say(document.cookie.split("; ").sort().join("; "));
    done(await text("/cookies/seen"));
  },
});

item("cookie-on-redirect", {
  async run({ say, done }) {
    say(await text("/redirect/cookie"));
    done(document.cookie.includes("on_the_way=yes"));
  },
});

item("redirect-fetch", {
  async run({ say, done }) {
    const response = await fetch("/redirect/fetch", { method: "POST", body: "kept body" });
    say(`${response.status} ${response.redirected} ${new URL(response.url).pathname}`);
    done(await response.text());
  },
});

item("redirect-image", {
  async run({ done }) {
    const image = new Image();
    image.src = "/redirect/image";
    await happens(image, "load");
    done(`${image.naturalWidth} x ${image.naturalHeight}`);
  },
});

item("upload-fetch", {
  async run({ done }) {
    const form = new FormData();
    form.append("note", "from a script");
    form.append("file", new File([new Uint8Array(5000).fill(66)], "made.bin", { type: "application/x-made" }));
    form.append("umlaut", "Grüße");
    done(await text("/upload/fetch", { method: "POST", body: form }));
  },
});

item("download-link", {
  link({ done }) {
    done("clicked");
  },
});

item("download-named", {
  link({ done }) {
    done("clicked");
  },
});

item("download-blob", {
  run({ done }) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["made by a script\n".repeat(100)], { type: "text/plain" }));
    link.download = "made.txt";
    link.click();
    done("clicked");
  },
});
