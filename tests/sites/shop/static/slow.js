"use strict";

setTimeout(() => {
  const late = document.createElement("p");
  late.id = "late";
  late.textContent = "The content is here.";
  document.getElementById("waiting").replaceWith(late);
}, 400);
