"use strict";
// The page is complete without this script; it only spares some clicks.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // A link may lead into something folded: unfold it and what surrounds it.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  const button = (words, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "small";
    made.textContent = words;
    made.addEventListener("click", () => act(made));
    return made;
  };
  all(".command").forEach((box) => box.append(button("Copy", async (made) => {
    await navigator.clipboard.writeText(box.querySelector("code").textContent);
    made.textContent = "Copied";
  })));
  all(".steps").forEach((steps) => steps.prepend(button("Unfold all", (made) => {
    const open = made.textContent === "Unfold all";
    all("details", steps).forEach((details) => { details.open = open; });
    made.textContent = open ? "Fold all" : "Unfold all";
  })));
})();
