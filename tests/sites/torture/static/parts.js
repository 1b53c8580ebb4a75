"use strict";

const insert = (tag, attributes) => document.head.appendChild(Object.assign(document.createElement(tag), attributes));

item("images", {
  run({ say, done }) {
    let left = 6;
    [1000, 200, 800, 400, 0, 600].forEach((delay, index) => {
      const image = new Image();
      image.onload = image.onerror = (event) => {
        say(`${event.type} ${image.naturalWidth}`);
        left -= 1;
        if (!left) done();
      };
      image.src = `/image/${index + 1}x1.png?ms=${delay}`;
    });
  },
});

item("image-missing", {
  async run({ done }) {
    const image = new Image();
    image.src = "/image/missing.png";
    await Promise.race([happens(image, "error"), happens(image, "load")]).then((event) => done(event.type));
  },
});

item("image-pixels", {
  async run({ done }) {
    const image = new Image();
    image.src = "/image/8x8.png";
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    done(Array.from(context.getImageData(3, 3, 1, 1).data).join(" "));
  },
});

item("font", {
  async run({ say, done }) {
    const probe = document.createElement("span");
    probe.textContent = "ABCD";
    probe.style.cssText = "font: 20px Torture, monospace; position: absolute";
    document.getElementById("font").append(probe);
    const width = () => Math.round(probe.getBoundingClientRect().width);
    const before = width();
    const face = new FontFace("Torture", "url(/font/torture.ttf?ms=40)");
    document.fonts.add(face);
    await face.load();
    say(`wider ${width() > before}`);
    done(`width ${width()}`);
  },
});

item("style-import", {
  async run({ done }) {
    const link = insert("link", { rel: "stylesheet", href: "/style/outer.css?ms=20" });
    const event = await Promise.race([happens(link, "load"), happens(link, "error")]);
    const style = getComputedStyle(document.querySelector(".styled"));
    done(`${event.type} ${style.color} ${style.borderLeftWidth}`);
  },
});

item("background", {
  async run({ done }) {
    const link = insert("link", { rel: "stylesheet", href: "/style/background.css" });
    await happens(link, "load");
    document.querySelector("#background p").className = "pictured";
    done(await text("/arrived/background"));
  },
});

item("scripts", {
  async run({ say, done }) {
    window.order = [];
    const scripts = [60, 20, 40, 0].map((delay) => insert("script", { src: `/script/s${delay}.js?ms=${delay}` }));
    await Promise.all(scripts.map((script) => Promise.race([happens(script, "load"), happens(script, "error")])));
    say(window.order.join(" "));
    window.order = [];
    const ordered = [50, 10].map((delay) =>
      insert("script", { async: false, src: `/script/o${delay}.js?ms=${delay}` }));
    await Promise.all(ordered.map((script) => Promise.race([happens(script, "load"), happens(script, "error")])));
    done(window.order.join(" "));
  },
});

item("document-write", {
  async run({ done }) {
    const frame = document.createElement("iframe");
    frame.src = "/written";
    document.getElementById("document-write").append(frame);
    done((await happens(window, "message")).data.written);
  },
});

item("dynamic-import", {
  async run({ say, done }) {
    say((await import("/module/outer.js?ms=20")).text);
    say((await import("/module/outer.js?ms=20")).text);
    done((await import("/module/outer.js?ms=10")).text);
  },
});

item("modulepreload", {
  async run({ say, done }) {
    const link = insert("link", { rel: "modulepreload", href: "/module/ahead.js?ms=30" });
    say((await Promise.race([happens(link, "load"), happens(link, "error")])).type);
    done((await import("/module/ahead.js?ms=30")).text);
  },
});
