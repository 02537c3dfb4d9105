// Workers from the page's own text, since a page opened from a file can load no other script.
import { by_id } from "../page/dom.js";

/** @import { Answers, Done, Order, Progress, Question, Reply, Verb } from "../types.d.ts" */

/**
 * The callbacks of a request without an answer.
 *
 * @typedef {object} Waiting
 * @property {(done: any) => void} resolve Takes the answer.
 * @property {(why: unknown) => void} reject Takes an error.
 * @property {Progress} [progress] Takes the share of the work that is done.
 */

/** @type {WebAssembly.Module | null} */
let compiled = null;
let address = "";

/** Unpacks the page's content, once. */
export async function prepare() {
  const text = by_id("wasm").textContent ?? "";
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  compiled = await WebAssembly.compile(await new Response(plain).arrayBuffer());
  const script = by_id("worker").textContent ?? "";
  address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
}

/** The error of work that `stop` has ended. */
export class Cancelled extends Error {
  constructor() {
    super("cancelled");
  }
}

/** A worker, with the requests that it has not answered. */
export class Hand {
  constructor() {
    /** @type {Map<number, Waiting>} */
    this.waiting = new Map();
    this.last = 0;
    this.worker = new Worker(address);
    this.worker.postMessage({ module: compiled });
    this.worker.onmessage = (event) => this.take(event.data);
    this.worker.onerror = (event) => this.stop(new Error(event.message || "the worker stopped"));
  }

  /**
   * Passes a message of the worker to the request that it answers.
   *
   * @param {Reply} reply
   */
  take({ id, share, mistake, done }) {
    const asked = this.waiting.get(id);
    if (!asked) return;
    if (share !== undefined) {
      asked.progress?.(share);
      return;
    }
    this.waiting.delete(id);
    if (mistake) asked.reject(Object.assign(new Error(mistake.message), mistake));
    else asked.resolve(done);
  }

  /**
   * Sends a request, or a run with its progress; returns the answer.
   *
   * @template {Verb} V
   * @overload
   * @param {{ request: Question<V> }} message
   * @returns {Promise<Answers[V]>}
   */
  /**
   * @overload
   * @param {{ run: Order }} message
   * @param {Progress} [progress]
   * @returns {Promise<Done>}
   */
  /**
   * @param {{ request: Question<Verb> } | { run: Order }} message
   * @param {Progress} [progress]
   * @returns {Promise<any>}
   */
  ask(message, progress) {
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, progress });
      this.worker.postMessage({ id, ...message });
    });
  }

  /**
   * Stops all work in progress at once.
   *
   * @param {Error} [why]
   */
  stop(why = new Cancelled()) {
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(why);
    this.waiting.clear();
  }
}
