// The page: puts its parts together, and starts the state of its address.
import { Editor } from "./editor/editor.js";
import { by_id } from "./page/dom.js";
import { connect } from "./page/inputs.js";
import { from_link } from "./page/links.js";
import { complain } from "./page/mistakes.js";
import { change, start } from "./page/scenario.js";
import { create_session } from "./page/session.js";
import { Player } from "./replay/player.js";
import { Hand, prepare } from "./simulator/workers.js";

main();

/** Builds the page; says so if the browser cannot run the simulator. */
async function main() {
  try {
    await prepare();
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    complain(null, { message: `this browser cannot run the simulator: ${message}` });
    return;
  }
  const desk = new Hand();
  const [catalog, schema] = await Promise.all([
    desk.ask({ request: { verb: "catalog" } }),
    desk.ask({ request: { verb: "schema" } }),
  ]);
  const editor = new Editor(by_id("editor"), schema, (text) => change(session, text));
  const player = new Player(by_id("replay"));
  const session = create_session({ desk, editor, player });
  connect(session, catalog);
  if (!(await from_link(session))) start(session, session.state);
  document.body.dataset.ready = "yes";
}
