// The course of lessons: the one that is open, and the way into it and out of it.
import { by_id } from "./dom.js";
import { show_lesson } from "./lesson.js";
import { go } from "./running.js";
import { start } from "./scenario.js";
import { text_of } from "./session.js";

/** @import { Lesson, Session } from "../types.d.ts" */

/**
 * Opens a lesson, or free play without one.
 *
 * @param {Session} session
 * @param {Lesson | null} lesson
 */
export function open_lesson(session, lesson) {
  press(lesson?.id);
  set_lesson(session, lesson);
  const { state, scenarios } = session;
  if (!lesson) return start(session, { ...state, set: [], moved: {} });
  return start(session, {
    ...state,
    text: lesson.text ?? text_of(scenarios, lesson.scenario),
    scenario: lesson.scenario ?? null,
    set: lesson.set ?? [],
    duration: "",
    moments: lesson.moments ?? null,
    moved: {},
  });
}

/**
 * Returns to free play without a run.
 *
 * @param {Session} session
 */
export function leave_lesson(session) {
  if (!session.lesson) return;
  set_lesson(session, null);
  press(undefined);
}

/**
 * Shows a lesson, and runs its scenario once the reader has predicted; hides it without one.
 *
 * @param {Session} session
 * @param {Lesson | null} lesson
 */
export function set_lesson(session, lesson) {
  session.lesson = lesson;
  session.guess = null;
  by_id("transports", HTMLFieldSetElement).disabled = Boolean(lesson);
  show_lesson(by_id("lesson"), lesson, (guess) => {
    session.guess = guess;
    go(session);
  });
}

/**
 * Shows the button of the open lesson as pressed.
 *
 * @param {string | undefined} id
 */
function press(id) {
  for (const button of by_id("lessons").querySelectorAll("button")) {
    const { lesson } = button.dataset;
    if (lesson !== undefined) button.setAttribute("aria-pressed", String(lesson === id));
  }
}
