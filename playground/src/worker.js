// A worker: answers questions about scenarios, and makes runs.
import { Engine, Mistake } from "./simulator/engine.js";
import { simulate } from "./simulator/moments.js";

/** @import { Job, Message, Reply } from "./types.d.ts" */

/** @type {Engine | null} */
let engine = null;

addEventListener("message", (/** @type {MessageEvent<Message>} */ { data }) => {
  if ("module" in data) engine = new Engine(data.module);
  else if (engine) serve(engine, data);
});

/**
 * Does a job, and posts its result or the mistake in its scenario.
 *
 * @param {Engine} engine
 * @param {Job} job
 */
function serve(engine, { id, request, run }) {
  try {
    if (request) reply({ id, done: engine.ask(request) });
    else if (run) reply({ id, done: simulate(engine, run, (share) => reply({ id, share })) });
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    reply({ id, mistake: error instanceof Mistake ? { ...error, message } : { message } });
  }
}

/**
 * Sends a message to the page.
 *
 * @param {Reply} message
 */
function reply(message) {
  postMessage(message);
}
