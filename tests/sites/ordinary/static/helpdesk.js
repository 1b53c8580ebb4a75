"use strict";

const subject = document.getElementById("subject");
if (subject) {
  subject.addEventListener("input", () => {
    document.getElementById("length").textContent = `${subject.value.length} characters`;
  });
}

const closing = document.getElementById("closing");
if (closing) {
  closing.addEventListener("submit", (event) => {
    if (!window.confirm("Close this ticket?")) event.preventDefault();
  });
}
