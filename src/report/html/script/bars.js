"use strict";
// Lengths of bars, which the policy of the page allows as style of a script alone.
for (const bar of document.querySelectorAll("[data-width], [data-left], [data-zero]")) {
  const { width, left, zero } = bar.dataset;
  if (width) bar.style.width = width + "%";
  if (left) bar.style.marginLeft = left + "%";
  if (zero) bar.style.setProperty("--zero", zero + "%");
}

