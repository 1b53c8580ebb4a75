"use strict";

const product = document.getElementById("product");

class RatingStars extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    for (let stars = 1; stars <= 5; stars += 1) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "star";
      button.dataset.stars = String(stars);
      button.setAttribute("aria-label", stars === 1 ? "1 star" : `${stars} stars`);
      button.textContent = "☆";
      button.addEventListener("click", () => this.rate(stars));
      root.append(button);
    }
  }

  rate(stars) {
    this.setAttribute("value", String(stars));
    for (const button of this.shadowRoot.querySelectorAll(".star")) {
      button.textContent = Number(button.dataset.stars) <= stars ? "★" : "☆";
    }
    document.getElementById("rating-value").textContent = `${stars} of 5`;
  }
}

class StockNote extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "closed" });
    const note = document.createElement("p");
    note.textContent = "In stock: " + product.dataset.stock;
    root.append(note);
  }
}

customElements.define("rating-stars", RatingStars);
customElements.define("stock-note", StockNote);

const note = document.getElementById("gift-note");

note.addEventListener("dblclick", () => {
  const input = document.createElement("input");
  input.id = "gift-note-input";
  input.setAttribute("aria-label", "Gift note");
  input.value = note.textContent === "none" ? "" : note.textContent;
  note.replaceWith(input);
  input.focus();
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    note.textContent = input.value || "none";
    input.replaceWith(note);
  });
});

async function addToCart() {
  const form = document.getElementById("buy-form");
  const line = {
    product: Number(product.dataset.id),
    quantity: Number(form.quantity.value),
    gift: form.gift.checked,
    wrap: form.wrap.value,
    note: note.textContent === "none" ? "" : note.textContent,
  };
  const response = await fetch("/api/cart", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(line),
  });
  const cart = await response.json();
  document.getElementById("buy-message").textContent = cart.message;
  if (response.ok) setBadge(cart.count);
}

document.getElementById("buy-form").addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("#add-to-cart, #buy-now")) {
  if (!button.hasAttribute("data-wish")) button.addEventListener("click", addToCart);
}
