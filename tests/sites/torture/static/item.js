"use strict";

const other = document.body.dataset.other;

/** Remember a result in this tab, for the summary. */
function remember(name, element) {
  sessionStorage.setItem(`item ${name}`, JSON.stringify([element.dataset.state, element.textContent]));
}

/** Append one line to a result; one that is done stays done, since responses and events may arrive in either order. */
function sayTo(name) {
  const result = document.getElementById(`${name}-result`);
  return (line) => {
    result.textContent += (result.textContent ? "\n" : "") + line;
    if (result.dataset.state !== "done") result.dataset.state = "running";
    remember(name, result);
  };
}

/** Say how an item works: one function a step, each given `say` and `done`. Steps that return are not yet done. */
function item(name, steps) {
  const result = document.getElementById(`${name}-result`);
  const say = sayTo(name);
  const done = (line) => {
    if (line !== undefined) say(line);
    result.dataset.state = "done";
    remember(name, result);
  };
  const act = async (step) => {
    try {
      await steps[step]({ say, done });
    } catch (error) {
      done(`failed: ${error.name}: ${error.message}`);
    }
  };
  for (const step of Object.keys(steps)) {
    const button = document.getElementById(`${name}-${step}`);
    if (button) button.addEventListener("click", () => act(step));
    else if (step === "load") act(step);
  }
}

const text = async (url, options) => (await fetch(url, options)).text();

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const happens = (target, name) => new Promise((resolve) => target.addEventListener(name, resolve, { once: true }));

/** A number that tells bytes apart. */
function checksum(buffer) {
  let sum = 7;
  for (const byte of new Uint8Array(buffer)) sum = (sum * 31 + byte) % 1000003;
  return sum;
}

/** Results of landing pages were written by the site. */
for (const result of document.querySelectorAll('.result[data-state="done"]')) {
  remember(result.parentElement.dataset.item, result);
}
