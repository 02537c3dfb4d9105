// The message of a mistake, above the editor and in it.
import { by_id } from "./dom.js";

/** @import { Editor } from "../editor/editor.js" */
/** @import { MistakeDetails } from "../types.d.ts" */

/**
 * Shows a mistake, and marks it in the editor if it is in the scenario's text.
 *
 * @param {Editor | null} editor
 * @param {MistakeDetails} mistake
 */
export function complain(editor, mistake) {
  const place = by_id("mistake");
  place.hidden = false;
  place.textContent = mistake.shown ?? mistake.message;
  if (mistake.file === "scenario.toml") editor?.mark(mistake);
  by_id("status").textContent = "";
}

/**
 * Removes the message and the mark.
 *
 * @param {Editor} editor
 */
export function withdraw(editor) {
  by_id("mistake").hidden = true;
  editor.mark(null);
}
