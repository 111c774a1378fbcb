/* Who uses a keyboard can scroll what is wider than the screen: only that takes the focus. */
"use strict";
const look = (area) => {
  const scrolls =
    area.scrollWidth > area.clientWidth + 1 || area.scrollHeight > area.clientHeight + 1;
  if (!scrolls) {
    area.removeAttribute("tabindex");
    return;
  }
  area.tabIndex = 0;
  if (!area.hasAttribute("role")) {
    area.setAttribute("role", "group");
    const isTable = area.querySelector("table");
    area.setAttribute("aria-label", isTable ? "Wide table" : "Wide figure");
  }
};
document.addEventListener("DOMContentLoaded", () => {
  const watch = new ResizeObserver((found) => found.forEach((one) => look(one.target)));
  document.querySelectorAll(".table-wrapper, .heat-map, .wide-figure").forEach((area) => {
    look(area);
    watch.observe(area);
  });
});
