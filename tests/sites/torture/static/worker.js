"use strict";

const uuid = self.crypto.randomUUID ? crypto.randomUUID() : "none";
const bytes = Array.from(crypto.getRandomValues(new Uint8Array(4))).join(" ");
const later = () => postMessage("later " + Date.now() + " " + performance.now());
postMessage(["random " + Math.random(), "uuid " + uuid, "bytes " + bytes,
  "now " + Date.now() + " " + performance.now()].join("\n"));
setTimeout(later, 50);
