"use strict";

// The document of a frame or window: it asks the site something and tells whoever is around.
const own = document.getElementById("name").textContent;
const number = document.getElementById("number").textContent;
const around = window.opener || (window.parent !== window ? window.parent : null);

fetch(`/delayed/${own}?ms=20`)
  .then((response) => response.text())
  .then((answer) => {
    document.getElementById("answer").textContent = answer;
    const message = { frame: own, text: `${number}, ${answer}` };
    if (around) around.postMessage(message, "*");
    else new BroadcastChannel("torture").postMessage(message);
  });

window.addEventListener("message", (event) => {
  if (event.data.question) event.source.postMessage({ frame: own, text: `answer to ${event.data.question}` }, "*");
});
