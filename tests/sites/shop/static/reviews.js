"use strict";

const form = document.getElementById("review-form");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const review = { product: Number(form.dataset.product), author: form.author.value, text: form.text.value };
  const response = await fetch("/api/reviews", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(review),
  });
  const answer = await response.json();
  document.getElementById("review-status").textContent = answer.message;
  if (!response.ok) return;
  const item = document.createElement("li");
  const author = document.createElement("strong");
  const text = document.createElement("span");
  author.textContent = answer.author;
  text.textContent = answer.text;
  text.className = "review-text";
  item.append(author, ": ", text);
  document.getElementById("review-list").append(item);
  form.reset();
});
