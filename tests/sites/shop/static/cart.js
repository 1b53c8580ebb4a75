"use strict";

const QUESTION = (name) => `Remove ${name} from the cart?`; // change: dialog-text
const ASKS = true; // change: no-dialog
const lines = document.getElementById("cart-lines");
const message = document.getElementById("cart-message");

function cell(text) {
  const element = document.createElement("td");
  element.textContent = text;
  return element;
}

function row(line) {
  const element = document.createElement("tr");
  element.dataset.id = String(line.product);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "remove";
  button.textContent = "Remove";
  button.setAttribute("aria-label", `Remove ${line.name}`);
  button.addEventListener("click", () => remove(line));
  const last = document.createElement("td");
  last.append(button);
  element.append(cell(line.name), cell(String(line.quantity)), cell(line.options), cell(line.sum), last);
  return element;
}

function show(cart) {
  lines.replaceChildren(...cart.lines.map(row));
  document.getElementById("cart-table").hidden = cart.lines.length === 0;
  document.getElementById("cart-empty").hidden = cart.lines.length > 0;
  document.getElementById("cart-total").textContent = cart.total;
  setBadge(cart.count);
}

async function call(path, method, body) {
  const options = { method };
  if (body) Object.assign(options, { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const response = await fetch(path, options);
  return response.json();
}

async function remove(line) {
  if (ASKS && !window.confirm(QUESTION(line.name))) {
    message.textContent = `${line.name} stays.`;
    return;
  }
  show(await call(`/api/cart/${line.product}`, "DELETE"));
  window.alert(`${line.name} removed.`);
  message.textContent = `${line.name} removed.`;
}

document.getElementById("enter-coupon").addEventListener("click", async () => {
  const code = window.prompt("Coupon code", "");
  if (code === null) {
    message.textContent = "No coupon entered.";
    return;
  }
  const cart = await call("/api/coupon", "POST", { code });
  show(cart);
  message.textContent = cart.message;
});

function showTab() {
  const wanted = new URLSearchParams(location.search).get("tab") || "items";
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.dataset.tab === wanted;
    tab.setAttribute("aria-selected", String(chosen));
    document.getElementById(`panel-${tab.dataset.tab}`).hidden = !chosen;
  }
}

for (const tab of document.querySelectorAll("[role=tab]")) {
  tab.addEventListener("click", () => {
    history.pushState(null, "", tab.dataset.tab === "items" ? "/cart" : `/cart?tab=${tab.dataset.tab}`);
    showTab();
  });
}
window.addEventListener("popstate", showTab);

showTab();
call("/api/cart", "GET").then(show);
