// Every text of a page whose contrast with its background is below 4.5 (WCAG 2.2, 1.4.3), and how many there
// are.
() => {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    const colour = parts(getComputedStyle(element).backgroundColor);
    return colour[3] === 0 ? behind(element.parentElement) : colour;
  };
  const faint = [];
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || element.closest("script, style, noscript") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const two = [luminance(parts(element.closest("svg") ? style.fill : style.color)), luminance(behind(element))];
    const contrast = (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05);
    seen++;
    if (contrast < 4.5) faint.push([text, contrast]);
  }
  return { faint, seen };
}
