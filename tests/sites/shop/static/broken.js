"use strict";

console.error("the stock service did not answer");
throw new Error("the page is broken");
