// Shows the text of a point at once. Without this script a browser shows it after a while.
"use strict";
const tip = document.getElementById("tip");
for (const point of document.querySelectorAll(".hit")) {
  const title = point.querySelector("title");
  const text = title.textContent;
  title.remove();
  point.setAttribute("aria-label", text);
  point.addEventListener("pointermove", (event) => {
    tip.textContent = text;
    tip.hidden = false;
    const left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = Math.max(left, 0) + "px";
    tip.style.top = event.clientY + 14 + "px";
  });
  point.addEventListener("pointerleave", () => { tip.hidden = true; });
}
