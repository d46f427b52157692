"use strict";
// Sets the lengths of bars by script, because the page's Content-Security-Policy forbids inline styles in the HTML.
for (const bar of document.querySelectorAll("[data-width], [data-left], [data-zero]")) {
  const { width, left, zero } = bar.dataset;
  if (width) bar.style.width = width + "%";
  if (left) bar.style.marginLeft = left + "%";
  if (zero) bar.style.setProperty("--zero", zero + "%");
}

