"use strict";

const ways = JSON.parse(document.getElementById("ways").textContent);
const AsyncFunction = (async () => {}).constructor;

/** Insert an element. */
function insert(tag, properties) {
  const element = document.createElement(tag);
  const { style, ...rest } = properties;
  if (style) element.style.cssText = style;
  for (const [name, value] of Object.entries(rest)) {
    if (name in element && typeof element[name] !== "object") element[name] = value;
    else element.setAttribute(name, value);
  }
  document.body.append(element);
  return element;
}

const frame = (properties) => insert("iframe", properties);

const blob = (source) => URL.createObjectURL(new Blob([source], { type: "text/javascript" }));

for (const [name, { script, authority }] of Object.entries(ways)) {
  const [host, port] = authority.split(":");
  const to = {
    http: `http://${authority}`,
    https: `https://${authority}`,
    ws: `ws://${authority}`,
    host,
    port: port || "80",
    own: (what) => `${location.origin}/own/${name}/${authority}/${what}`,
  };
  const form = (target) => {
    const made = insert("form", { method: "post", action: `${to.http}/x`, target });
    made.insertAdjacentHTML("beforeend", '<input name="leak" value="yes">');
    return made;
  };
  document.getElementById(`leak-${name}`).addEventListener("click", async () => {
    const result = document.getElementById(`leak-${name}-result`);
    result.textContent = "trying";
    try {
      await new AsyncFunction("to", "insert", "frame", "blob", "form", script)(to, insert, frame, blob, form);
      result.textContent = "tried";
    } catch (error) {
      result.textContent = `${error.name}: ${error.message}`;
    }
  });
}
