// Links to a state of the page: in the address, and from it.
import { leave_lesson, open_lesson, set_lesson } from "./course.js";
import { say } from "./progress.js";
import { start } from "./scenario.js";
import { pack, unpack } from "./share.js";

/** @import { Session, Shared } from "../types.d.ts" */

/**
 * Writes the state into the address, and copies the link.
 *
 * @param {Session} session
 */
export async function copy_link({ state, moved, lesson, modules }) {
  const { scenario, duration, moments, set, text } = state;
  const transports = state.transports.filter((each) => !(each in modules));
  /** @type {Shared} */
  const shared = { scenario, transports, duration, moments, set, text, moved, lesson: lesson?.id };
  history.replaceState(null, "", `#s=${await pack(shared)}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is in the clipboard, and above in the address.");
  } catch {
    say("The link stands above, in the address.");
  }
}

/**
 * Returns true if the address has a valid state, and starts it.
 *
 * @param {Session} session
 */
export async function from_link(session) {
  const named = /^#lesson=([\w-]+)$/.exec(location.hash);
  if (named) {
    const asked = session.lessons.find(({ id }) => id === named[1]);
    if (!asked) return false;
    open_lesson(session, asked);
    return true;
  }
  const found = /^#s=([\w-]+)$/.exec(location.hash);
  if (!found) return false;
  try {
    await start_shared(session, await unpack(found[1]));
    return true;
  } catch {
    say("The address holds no scenario that can be read.");
    return false;
  }
}

/**
 * Starts the state of a link, with its lesson.
 *
 * @param {Session} session
 * @param {Shared} shared
 */
function start_shared(session, shared) {
  const asked = session.lessons.find(({ id }) => id === shared.lesson);
  if (asked) set_lesson(session, asked);
  else leave_lesson(session);
  return start(session, {
    ...shared,
    set: shared.set ?? [],
    moved: shared.moved ?? {},
    moments: shared.moments ?? null,
  });
}
