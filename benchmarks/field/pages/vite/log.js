export const line = (count) => Object.assign(document.createElement("li"), { textContent: `Counted ${count}` });
