"use strict";
const steps = [...document.querySelectorAll(".step")];
const search = document.getElementById("search");
const verdicts = [...document.querySelectorAll("input[name=verdict]")];
const texts = new Map(steps.map((step) => [step, step.textContent.toLowerCase()]));

const filter = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = new Set(verdicts.filter((each) => each.checked).map((each) => each.value));
  for (const step of steps) {
    step.hidden = !chosen.has(step.dataset.verdict) || !words.every((word) => texts.get(step).includes(word));
  }
  const shown = steps.filter((step) => !step.hidden).length;
  document.getElementById("shown").textContent = shown === steps.length ? "" : `${shown} of ${steps.length} steps`;
};
document.querySelector(".filter").addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", filter);
for (const each of verdicts) each.addEventListener("change", filter);

// The step of the address is open, and shown whatever is filtered.
const openStep = () => {
  const step = steps.find((each) => `#${each.id}` === location.hash);
  if (!step) return;
  step.hidden = false;
  step.open = true;
  step.scrollIntoView();
  step.querySelector("summary").focus({ preventScroll: true });
};
addEventListener("hashchange", openStep);

const goTo = (places, by) => {
  const shown = places.filter((step) => !step.hidden);
  const here = shown.findIndex((step) => `#${step.id}` === location.hash);
  const next = shown[here < 0 ? (by > 0 ? 0 : shown.length - 1) : here + by];
  if (next) location.hash = next.id;
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input[type=search], input[type=range]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "j") goTo(steps, 1);
  else if (event.key === "k") goTo(steps, -1);
  else if (event.key === "n") {
    const here = steps.findIndex((step) => `#${step.id}` === location.hash);
    const later = steps.slice(here + 1).find((step) => !step.hidden && step.dataset.verdict === "diverged");
    if (later) location.hash = later.id;
  } else if (event.key === "/") {
    event.preventDefault();
    search.focus();
  }
});

for (const slider of document.querySelectorAll(".slider")) {
  const over = slider.querySelector(".over");
  slider.querySelector("input").addEventListener("input", ({ target }) => {
    over.style.clipPath = `inset(0 0 0 ${100 - target.value}%)`;
  });
}
for (const each of document.querySelectorAll(".filmstrip img")) {
  const picture = document.getElementById(each.dataset.of);
  if (picture) each.src = picture.src;
  else each.remove();
}
openStep();
