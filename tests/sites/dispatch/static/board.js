"use strict";

const byId = (id) => document.getElementById(id);
const live = new WebSocket(`ws://${location.host}/live`);
const feed = new EventSource("/feed");

live.addEventListener("message", (event) => {
  const told = JSON.parse(event.data);
  if (told.rate) byId("rate").textContent = told.rate;
  if (told.answer) byId("answer").textContent = told.answer;
});

feed.addEventListener("message", (event) => {
  const item = document.createElement("li");
  item.textContent = JSON.parse(event.data).text;
  byId("feed").append(item);
});

function cell(content) {
  const element = document.createElement("td");
  element.append(content);
  return element;
}

function row(order) {
  const element = document.createElement("tr");
  element.dataset.id = String(order.id);
  const link = document.createElement("a");
  link.href = `/order/${order.id}`;
  link.target = "_blank";
  link.textContent = `DayOrder ${order.id}`;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "ship";
  button.textContent = "Ship";
  button.setAttribute("aria-label", `Ship order ${order.id}`);
  button.addEventListener("click", () => ship(order));
  element.append(
    cell(link), cell(order.customer), cell(String(order.parcels)), cell(String(order.price)), cell(order.state), cell(button),
  );
  return element;
}

async function ship(order) {
  if (!window.confirm(`Ship ${order.parcels} parcels of ${order.customer}?`)) return;
  const response = await fetch(`/api/orders/${order.id}/ship`, { method: "POST" });
  const done = await response.json();
  document.querySelector(`tr[data-id="${done.id}"]`).children[4].textContent = done.state;
  byId("state").textContent = `${done.by} takes order ${done.id}.`;
  localStorage.setItem("last-shipped", String(done.id));
}

async function send(method, path, value) {
  const headers = { "Content-Type": "application/json" };
  return (await fetch(path, { method, headers, body: JSON.stringify(value) })).json();
}

byId("ask").addEventListener("click", () => {
  live.send(JSON.stringify({ ask: byId("question").value }));
});

byId("keep").addEventListener("click", async () => {
  const answer = await send("PUT", "/api/note", { text: byId("note").value });
  await send("POST", "/api/log", { what: "kept a note" });
  setTimeout(() => {
    byId("kept").textContent = `Kept: ${answer.kept}`;
  }, 700);
});

fetch("/api/orders").then((response) => response.json()).then((answer) => {
  byId("rows").append(...answer.orders.map(row));
  byId("total").textContent = String(answer.total);
});
