"use strict";

const list = document.getElementById("wishlist");
let dragged = null;

async function keep() {
  const order = [...list.children].map((item) => Number(item.dataset.id));
  const response = await fetch("/api/wishlist", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ order }),
  });
  document.getElementById("wishlist-status").textContent = (await response.json()).message;
}

list.addEventListener("dragstart", (event) => {
  dragged = event.target;
  event.dataTransfer.setData("text/plain", dragged.dataset.id);
});
list.addEventListener("dragover", (event) => event.preventDefault());
list.addEventListener("drop", (event) => {
  event.preventDefault();
  const target = event.target.closest("li");
  if (!target || !dragged || target === dragged) return;
  const items = [...list.children];
  if (items.indexOf(dragged) < items.indexOf(target)) target.after(dragged);
  else target.before(dragged);
  keep();
});
