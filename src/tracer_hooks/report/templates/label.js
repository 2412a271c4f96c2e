"use strict";
// Keys for what the page can do without them: y right, n wrongly blamed.
document.documentElement.classList.add("keys");
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.repeat) return;
  if (event.target.closest("input, select, textarea")) return;
  const target = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === event.key);
  if (!target) return;
  event.preventDefault();
  if (target.tagName !== "SUMMARY") {
    target.click();
    return;
  }
  target.parentElement.open = true;
  target.parentElement.querySelector("select, input:not([type=hidden])").focus();
});
