// The papers' figure of alpha^d, with a point that sliders move.
import { penalty } from "../charts/penalty.js";
import { number } from "../numbers.js";
import { inside, make } from "./dom.js";

const FIGURE = `<figcaption>What one cut takes from the window: half of alpha to the power of d</figcaption><div></div>
      <div class="row"><label class="wide">alpha <input type="range" min="0" max="1" step="0.01" value="0.25"></label>
      <label class="wide">d <input type="range" min="0.5" max="2" step="0.05" value="1"></label></div><p class="small" aria-live="polite"></p>`;

/** Returns the figure, with a slider for alpha and one for d. */
export function law() {
  const figure = make("figure", { className: "chart", innerHTML: FIGURE });
  const [alpha, d] = figure.querySelectorAll("input");
  const draw = () => {
    const now = { alpha: Number(alpha.value), d: Number(d.value) };
    const width = Math.min(560, figure.clientWidth - 26 || 320);
    inside(figure, "div").replaceChildren(penalty(width, now));
    const [cut, other] = [50 * now.alpha ** now.d, 50 * now.alpha];
    const told = `alpha = ${now.alpha}, d = ${now.d}: the window shrinks by ${number(cut)} %`;
    inside(figure, "p").textContent = `${told}, DCTCP's by ${number(other)} %.`;
  };
  for (const input of [alpha, d]) input.addEventListener("input", draw);
  requestAnimationFrame(draw);
  return figure;
}
