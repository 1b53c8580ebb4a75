"use strict";

const byId = (id) => document.getElementById(id);

async function showCart() {
  const cart = await (await fetch(`/api/cart?_=${Date.now()}`)).json();
  byId("badge").textContent = String(cart.count);
  if (!byId("rows")) return;
  for (const line of cart.lines) {
    const row = byId("rows").insertRow();
    for (const text of [line.name, String(line.amount), line.sum.toFixed(2)]) row.insertCell().textContent = text;
  }
  byId("total").textContent = `${cart.total.toFixed(2)} EUR`;
}

if (byId("stock")) {
  const stock = new EventSource(`/stock?sku=${byId("stock").dataset.sku}`);
  stock.addEventListener("message", (event) => {
    byId("stock").textContent = `${JSON.parse(event.data).stock} in stock`;
  });
}

if (byId("add")) {
  byId("add").addEventListener("click", async () => {
    const body = JSON.stringify({ sku: byId("add").dataset.sku, amount: Number(byId("amount").value) });
    const headers = { "Content-Type": "application/json", "X-Request-Token": window.requestToken };
    const answer = await (await fetch("/api/cart", { method: "POST", headers, body })).json();
    byId("added").textContent = answer.message;
    byId("badge").textContent = String(answer.count);
  });
}

showCart();
