// The inputs of the page: their options, and the functions that they call.
import { name_of } from "./changes.js";
import { show_columns } from "./columns.js";
import { leave_lesson, open_lesson } from "./course.js";
import { by_id, make } from "./dom.js";
import { download } from "./files.js";
import { copy_link, from_link } from "./links.js";
import { connect_plugins } from "./plugins.js";
import { show_replay } from "./results.js";
import { cancel, go, MAX_RUNS } from "./running.js";
import { start, transport_boxes } from "./scenario.js";

/** @import { Answers, Session } from "../types.d.ts" */

const DURATIONS = ["10 ms", "50 ms", "100 ms", "500 ms", "1 s", "3 s", "10 s", "30 s"];

/**
 * Fills the selections, and connects every input.
 *
 * @param {Session} session
 * @param {Answers["catalog"]} catalog
 */
export function connect(session, catalog) {
  connect_scenarios(session);
  connect_times(session);
  by_id("transports").append(...catalog.transports.map((each) => transport(session, each)));
  connect_plugins(session, (about) => transport(session, about));
  by_id("lessons").append(...lesson_buttons(session));
  by_id("run").addEventListener("click", () => go(session));
  by_id("cancel").addEventListener("click", () => cancel(session));
  by_id("scale").addEventListener("change", () => show_columns(session.runs));
  by_id("replayed").addEventListener("change", () => show_replay(session));
  by_id("licences").addEventListener("click", toggle_licences);
  for (const button of by_id("results").querySelectorAll("button")) {
    const kind = button.dataset.download;
    if (kind) button.addEventListener("click", () => download(session, kind));
  }
  by_id("share").addEventListener("click", () => copy_link(session));
  addEventListener("hashchange", () => from_link(session));
}

/**
 * Fills the selection of scenarios; its last option opens the editor.
 *
 * @param {Session} session
 */
function connect_scenarios(session) {
  const select = by_id("scenario", HTMLSelectElement);
  select.append(...session.scenarios.map(({ name, title }) => new Option(title, name)));
  select.append(new Option("One of your own (below)", ""));
  select.addEventListener("change", () => {
    const chosen = session.scenarios.find(({ name }) => name === select.value);
    if (!chosen) {
      by_id("source", HTMLDetailsElement).open = true;
      session.editor.focus();
      return;
    }
    leave_lesson(session);
    const { name: scenario, text } = chosen;
    start(session, { ...session.state, scenario, text, set: [], moved: {} });
  });
}

/**
 * Fills the selection of simulated times, and connects it and that of the first moments.
 *
 * @param {Session} session
 */
function connect_times(session) {
  const duration = by_id("duration", HTMLSelectElement);
  const moments = by_id("moments", HTMLSelectElement);
  duration.append(new Option("as the scenario says", ""), ...DURATIONS.map((each) => new Option(each, each)));
  duration.addEventListener("change", () => {
    session.state.duration = duration.value;
    go(session);
  });
  moments.addEventListener("change", () => {
    session.state.moments = Number(moments.value) || null;
    go(session);
  });
}

/**
 * Returns the box of a transport.
 *
 * @param {Session} session
 * @param {{ name: string, help: string }} about
 */
function transport(session, { name, help }) {
  const box = make("input", { type: "checkbox", value: name });
  box.addEventListener("change", () => {
    const on = [...transport_boxes()].filter((each) => each.checked).map((each) => each.value);
    if (on.length > MAX_RUNS) box.checked = false;
    else session.state.transports = on;
    leave_lesson(session);
    go(session);
  });
  const label = make("label", { title: help });
  label.append(box, name_of(name));
  return label;
}

/**
 * Returns a button for free play and one for each lesson.
 *
 * @param {Session} session
 */
function lesson_buttons(session) {
  const play = make("button", { textContent: "Free play" });
  play.addEventListener("click", () => open_lesson(session, null));
  const buttons = session.lessons.map((lesson, index) => {
    const button = make("button", { textContent: `${index + 1}. ${lesson.title}` });
    button.dataset.lesson = lesson.id;
    button.addEventListener("click", () => open_lesson(session, lesson));
    return button;
  });
  return [play, ...buttons];
}

/** Shows the licences, or hides them again. */
function toggle_licences() {
  const text = by_id("licence-text");
  text.textContent = by_id("legal").textContent;
  text.hidden = !text.hidden;
}
