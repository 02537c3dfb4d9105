// Lessons: a question, the reader's guess, and then the result of the runs.
"use strict";

const lessons = (() => {
  const FORMATS = {
    "ms": (us) => `${charts.number(us / 1000)} ms`,
    "%": (value) => charts.percent(value),
    "n": (value) => charts.number(value),
    "mbps": (value) => `${charts.number(value)} Mbps`,
  };

  const find = (reports, path) => path.split(".").reduce((value, key) => value?.[key], reports);

  /** Returns a text with the figures of runs for {path} and {path:format}. */
  function fill(text, reports) {
    return text.replace(/\{([\w.]+)(?::([\w%]+))?\}/g, (_, path, format) => FORMATS[format ?? "n"](find(reports, path)));
  }

  /** Shows a lesson in `root`; `guessed()` is called once the reader has chosen. */
  function show(root, lesson, guessed) {
    root.hidden = !lesson;
    if (!lesson) return;
    const part = (name) => root.querySelector(`[data-part=${name}]`);
    root.querySelector("h2").textContent = lesson.title;
    part("story").textContent = lesson.story;
    part("reveal").replaceChildren();
    const predict = part("predict");
    predict.querySelector("legend").textContent = `Before you look: ${lesson.question}`;
    predict.querySelectorAll("button").forEach((button) => button.remove());
    const buttons = lesson.options.map((option, index) => {
      const button = document.createElement("button");
      button.textContent = option;
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => {
        buttons.forEach((each) => {
          each.disabled = true;
        });
        button.setAttribute("aria-pressed", "true");
        guessed(index);
      });
      return button;
    });
    predict.append(...buttons);
  }

  /** Shows the lesson's verdict and explanation after its runs. */
  function reveal(root, lesson, guess, reports) {
    const part = root.querySelector("[data-part=reveal]");
    const verdict = document.createElement("p");
    verdict.className = guess === lesson.right ? "right" : "wrong";
    verdict.textContent = guess === lesson.right ? "You predicted it." : `It is another: ${lesson.options[lesson.right]}`;
    const text = document.createElement("p");
    text.textContent = fill(lesson.reveal, reports);
    part.replaceChildren(verdict, text);
    if (lesson.penalty) part.append(penalty());
  }

  /** The papers' figure of alpha^d, with a point to move. */
  function penalty() {
    const figure = document.createElement("figure");
    figure.className = "chart";
    figure.innerHTML = `<figcaption>What one cut takes from the window: half of alpha to the power of d</figcaption><div></div>
      <div class="row"><label class="wide">alpha <input type="range" min="0" max="1" step="0.01" value="0.25"></label>
      <label class="wide">d <input type="range" min="0.5" max="2" step="0.05" value="1"></label></div><p class="small" aria-live="polite"></p>`;
    const [alpha, d] = figure.querySelectorAll("input");
    const draw = () => {
      const now = { alpha: Number(alpha.value), d: Number(d.value) };
      figure.querySelector("div").replaceChildren(charts.penalty(Math.min(560, figure.clientWidth - 26 || 320), now));
      const cut = 50 * now.alpha ** now.d;
      figure.querySelector("p").textContent = `alpha = ${now.alpha}, d = ${now.d}: the window shrinks by ${charts.number(cut)} %, DCTCP's by ${charts.number(50 * now.alpha)} %.`;
    };
    [alpha, d].forEach((input) => input.addEventListener("input", draw));
    requestAnimationFrame(draw);
    return figure;
  }

  return { show, reveal, fill };
})();
