// Everything on a page that keeps a person from seeing or reaching a part of it, as a list of texts. A test evaluates this in the browser.
(() => {
  const found = [];
  const root = document.documentElement;
  const name = (one) => `${one.tagName.toLowerCase()}${one.id ? "#" + one.id : ""} “${one.textContent.trim().slice(0, 40)}”`;
  const modal = document.querySelector("dialog[open]");
  // Of a dialog nothing but the dialog is reached.
  // Texts for screen readers alone, and the link that is seen once it has the focus.
  const isClipped = (one) => one !== null && (getComputedStyle(one).clipPath !== "none" || one.matches(".skip") || isClipped(one.parentElement));
  const all = [...(modal ?? document.body).querySelectorAll("*")].filter((one) =>
    one.checkVisibility({ visibilityProperty: true }) && !isClipped(one) && one.getBoundingClientRect().width > 0);
  if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} wide, the window ${root.clientWidth}`);
  for (const one of all) {
    const box = one.getBoundingClientRect();
    if (box.left < -0.5 || box.right > root.clientWidth + 0.5) found.push(`${name(one)} is cut: ${box.left} to ${box.right}`);
    const isText = one.matches("input, select, option");
    if (!isText && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && getComputedStyle(one).display !== "inline") {
      found.push(`${name(one)} is ${one.scrollWidth} wide in ${one.clientWidth}`);
    }
  }
  for (const one of all.filter((one) => one.matches("a[href], button, input, select, summary"))) {
    // A label is a part of what is touched.
    const boxes = [one, ...(one.labels ?? [])].map((part) => part.getBoundingClientRect());
    if (!boxes.some((box) => box.width >= 44 && box.height >= 44)) {
      found.push(`${name(one)} is too small to be touched: ${boxes.map((box) => `${box.width} x ${box.height}`).join(", ")}`);
    }
  }
  if (document.getAnimations().length > 0) found.push("something moves");
  return found;
})();
