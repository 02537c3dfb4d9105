// A lesson in the page: a question, the reader's prediction, and then the verdict with the figures of runs.
import { number, percent } from "../numbers.js";
import { inside, make, part } from "./dom.js";
import { law } from "./law.js";

/** @import { Lesson, Report } from "../types.d.ts" */

/** @type {Record<string, (value: any) => string>} */
const FORMATS = {
  ms: (us) => `${number(us / 1000)} ms`,
  "%": percent,
  n: (value) => number(value),
  mbps: (value) => `${number(value)} Mbps`,
};

/**
 * Returns a text with the figures of runs for {path} and {path:format}.
 *
 * @param {string} text
 * @param {Report[]} reports
 */
function fill(text, reports) {
  return text.replace(/\{([\w.]+)(?::([\w%]+))?\}/g, (_, path, format) =>
    FORMATS[format ?? "n"](find(reports, path)),
  );
}

/**
 * Returns the value at a path of keys.
 *
 * @param {Report[]} reports
 * @param {string} path
 * @returns {unknown}
 */
function find(reports, path) {
  /** @type {any} */
  let value = reports;
  for (const key of path.split(".")) value = value?.[key];
  return value;
}

/**
 * Shows a lesson in `root`, and calls `guessed` with the option that the reader chooses; hides it without one.
 *
 * @param {HTMLElement} root
 * @param {Lesson | null} lesson
 * @param {(option: number) => void} guessed
 */
export function show_lesson(root, lesson, guessed) {
  root.hidden = !lesson;
  if (!lesson) return;
  inside(root, "h2").textContent = lesson.title;
  part(root, "story").textContent = lesson.story;
  part(root, "reveal").replaceChildren();
  const predict = part(root, "predict");
  inside(predict, "legend").textContent = `Before you look: ${lesson.question}`;
  for (const button of predict.querySelectorAll("button")) button.remove();
  const buttons = lesson.options.map((option) => make("button", { textContent: option }));
  buttons.forEach((button, index) => {
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      for (const each of buttons) each.disabled = true;
      button.setAttribute("aria-pressed", "true");
      guessed(index);
    });
  });
  predict.append(...buttons);
}

/**
 * Shows the lesson's verdict and explanation after its runs.
 *
 * @param {HTMLElement} root
 * @param {Lesson} lesson
 * @param {number | null} guess
 * @param {Report[]} reports
 */
export function reveal(root, lesson, guess, reports) {
  const found = guess === lesson.right;
  const verdict = make("p", {
    className: found ? "right" : "wrong",
    textContent: found ? "Correct." : `Not quite: it is ${lesson.options[lesson.right]}`,
  });
  const text = make("p", { textContent: fill(lesson.reveal, reports) });
  part(root, "reveal").replaceChildren(verdict, text, ...(lesson.penalty ? [law()] : []));
}
