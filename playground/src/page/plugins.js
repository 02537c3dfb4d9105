// Plug-ins: the reader's own transports, WebAssembly modules from files.
import { leave_lesson } from "./course.js";
import { by_id } from "./dom.js";
import { complain, withdraw } from "./mistakes.js";
import { go, MAX_RUNS } from "./running.js";
import { transport_boxes } from "./scenario.js";

/** @import { Session } from "../types.d.ts" */

/**
 * Connects the input of files; `box` makes the box of a transport.
 *
 * @param {Session} session
 * @param {(about: { name: string, help: string }) => HTMLElement} box
 */
export function connect_plugins(session, box) {
  const input = by_id("plugin", HTMLInputElement);
  input.addEventListener("change", async () => {
    for (const file of input.files ?? []) await add(session, file, box);
    // The same file can be chosen again after an edit.
    input.value = "";
  });
}

/**
 * Adds a plug-in beside the transports, or takes it in place of a former one of its name.
 *
 * @param {Session} session
 * @param {File} file
 * @param {(about: { name: string, help: string }) => HTMLElement} box
 */
async function add(session, file, box) {
  const modules = { ...session.modules, [file.name]: [...new Uint8Array(await file.arrayBuffer())] };
  const { text, set } = session.state;
  try {
    const request = /** @type {const} */ ({ verb: "check", text, set, transport: file.name, modules });
    await session.desk.ask({ request });
  } catch (error) {
    complain(session.editor, /** @type {Error} */ (error));
    return;
  }
  withdraw(session.editor);
  session.modules = modules;
  leave_lesson(session);
  if (![...transport_boxes()].some(({ value }) => value === file.name)) {
    by_id("transports").append(box({ name: file.name, help: "a plug-in of your own" }));
  }
  const { transports } = session.state;
  if (!transports.includes(file.name)) {
    session.state.transports = [...transports.slice(0, MAX_RUNS - 1), file.name];
  }
  for (const each of transport_boxes()) each.checked = session.state.transports.includes(each.value);
  go(session);
}
