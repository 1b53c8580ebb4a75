"use strict";

const HELP_OPENS = true; // change: popup-blocked

document.getElementById("open-help").addEventListener("click", () => {
  if (HELP_OPENS) window.open("/help", "help", "width=480,height=360");
});

const area = document.getElementById("departments-area");
const departments = document.getElementById("departments");

function showMenu(shown) {
  document.getElementById("departments-menu").hidden = !shown;
  departments.setAttribute("aria-expanded", String(shown));
}

area.addEventListener("mouseenter", () => showMenu(true));
area.addEventListener("mouseleave", () => showMenu(false));

document.addEventListener("keydown", (event) => {
  const search = document.getElementById("search");
  if (event.key !== "/" || !search || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  search.focus();
});

function setBadge(count) {
  document.getElementById("cart-badge").textContent = String(count);
}
