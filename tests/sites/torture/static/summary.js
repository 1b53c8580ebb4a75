"use strict";

const body = document.querySelector("#summary tbody");
const names = Object.keys(sessionStorage).filter((key) => key.startsWith("item ")).sort();
for (const key of names) {
  const [state, said] = JSON.parse(sessionStorage.getItem(key));
  const row = body.insertRow();
  row.dataset.item = key.slice(5);
  row.insertCell().textContent = row.dataset.item;
  const cell = row.insertCell();
  cell.className = "result";
  cell.dataset.state = state;
  cell.textContent = said;
}
