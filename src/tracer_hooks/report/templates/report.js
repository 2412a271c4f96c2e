"use strict";
// The page is complete without this script; it only spares some clicks.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // A link may lead into something folded: unfold what surrounds its target.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let node = target.parentElement; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);

  // Bring quoted passages into view inside long texts, and the decisive step inside long timelines.
  const showMarks = (root) => all(".text", root).forEach((box) => {
    const mark = box.querySelector("mark");
    if (mark && box.scrollHeight > box.clientHeight) {
      box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
    }
  });
  showMarks(document);
  all(".scroller").forEach((scroller) => {
    const band = scroller.querySelector(".band");
    if (band) scroller.scrollLeft = band.getBoundingClientRect().left - scroller.getBoundingClientRect().left - scroller.clientWidth / 2;
  });

  // One button to unfold every text of an attempt.
  all("details.steps").forEach((steps) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Unfold all";
    button.addEventListener("click", () => {
      const open = button.textContent === "Unfold all";
      all("details", steps).forEach((details) => { details.open = open; });
      button.textContent = open ? "Fold all" : "Unfold all";
      showMarks(steps);
    });
    steps.querySelector("summary").after(button);
  });

  addEventListener("beforeprint", () => all("details.steps").forEach((steps) => { steps.open = true; }));
  if (location.hash) reveal();
})();
