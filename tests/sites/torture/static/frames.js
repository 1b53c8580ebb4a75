"use strict";

/** Wait for what a frame or window of a name tells. */
function told(name) {
  return new Promise((resolve) => {
    const listen = (event) => {
      if (event.data.frame !== name) return;
      window.removeEventListener("message", listen);
      resolve(event);
    };
    window.addEventListener("message", listen);
  });
}

function frameIn(section, attributes) {
  const frame = Object.assign(document.createElement("iframe"), attributes);
  document.getElementById(section).append(frame);
  return frame;
}

item("frame-same", {
  async run({ say, done }) {
    const heard = told("same");
    const frame = frameIn("frame-same", { src: "/frame/same" });
    say((await heard).data.text);
    done(frame.contentDocument.getElementById("name").textContent);
  },
});

item("frame-other", {
  async run({ say, done }) {
    const first = told("other");
    const frame = frameIn("frame-other", { src: `${other}/frame/other` });
    say((await first).data.text);
    const second = told("other");
    frame.contentWindow.postMessage({ question: "a question" }, "*");
    say((await second).data.text);
    done(frame.contentDocument === null ? "closed to us" : "open to us");
  },
});

item("frame-srcdoc", {
  async run({ done }) {
    const heard = told("srcdoc");
    const script = "fetch('/delayed/srcdoc?ms=20').then((response) => response.text())"
      + ".then((text) => parent.postMessage({ frame: 'srcdoc', text }, '*'))";
    frameIn("frame-srcdoc", { srcdoc: `<p>inner</p><script>${script}</` + "script>" });
    done((await heard).data.text);
  },
});

item("popup", {
  async run({ say, done }) {
    const heard = told("popup");
    const opened = window.open("/frame/popup", "torture", "width=300,height=200");
    say(opened === null ? "blocked" : "opened");
    say((await heard).data.text);
    const answer = told("popup");
    opened.postMessage({ question: "are you there?" }, "*");
    done((await answer).data.text);
  },
});

item("popup-blank", {
  async link({ done }) {
    const channel = new BroadcastChannel("torture");
    done((await happens(channel, "message")).data.text);
  },
});

item("dialogs", {
  alert({ say }) {
    window.alert("Look here");
    say("alert was closed");
  },
  confirm({ say }) {
    say(`confirm ${window.confirm("Really?")}`);
  },
  prompt({ done }) {
    done(`prompt ${window.prompt("Who are you?", "nobody")}`);
  },
});
