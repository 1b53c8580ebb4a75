"use strict";

document.getElementById("category").addEventListener("change", (event) => event.target.form.requestSubmit());
