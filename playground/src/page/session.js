// The state of the page: the choices of the reader, the runs in progress, and the results.
import { data } from "./dom.js";

/** @import { Editor } from "../editor/editor.js" */
/** @import { Player } from "../replay/player.js" */
/** @import { Hand } from "../simulator/workers.js" */
/** @import { Lesson, Scenario, Session, State } from "../types.d.ts" */

/**
 * Returns the session before any choice, with the parts of the page that all of it uses.
 *
 * @param {{ desk: Hand, editor: Editor, player: Player }} parts
 * @returns {Session}
 */
export function create_session(parts) {
  const scenarios = /** @type {Scenario[]} */ (data("scenarios"));
  return {
    ...parts,
    scenarios,
    lessons: /** @type {Lesson[]} */ (data("lesson-plans")),
    state: first(scenarios),
    moved: {},
    lesson: null,
    guess: null,
    runs: [],
    hands: [],
    round: 0,
    later: undefined,
    resolved: null,
    modules: {},
  };
}

/**
 * Returns the state of a page without a link.
 *
 * @param {Scenario[]} scenarios
 * @returns {State}
 */
function first(scenarios) {
  const scenario = "large-messages";
  const transports = ["tcp", "dctcp", "d2tcp"];
  const text = text_of(scenarios, scenario);
  return { text, set: [], moved: {}, moments: null, scenario, transports, duration: "3 s" };
}

/**
 * Returns the text of a scenario.
 *
 * @param {Scenario[]} scenarios
 * @param {string | undefined} wanted
 */
export function text_of(scenarios, wanted) {
  const found = scenarios.find(({ name }) => name === wanted);
  if (!found) throw new Error(`the page has no scenario ${wanted}`);
  return found.text;
}
