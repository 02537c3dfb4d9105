// The simulator: calls the WebAssembly of crates/wasm, in a worker or in node.
import { Plugins } from "./plugins.js";

/** @import { Answers, Asked, Finished, Log, MistakeDetails, Question, Verb } from "../types.d.ts" */

/**
 * The functions that crates/wasm exports.
 *
 * @typedef {object} Exports
 * @property {WebAssembly.Memory} memory Holds requests and answers.
 * @property {(length: number) => number} input Returns the address for a request.
 * @property {() => number} ask Answers the request; returns the length of the answer.
 * @property {() => number} answer Returns the address of the answer.
 * @property {() => number} panicked Returns the length of the message of a panic.
 */

/** A mistake in a scenario: file, line, column, message, hint, shown. */
export class Mistake extends Error {
  /** @param {MistakeDetails} mistake */
  constructor(mistake) {
    super(mistake.message);
    Object.assign(this, mistake);
  }
}

/** One instance of the simulator. */
export class Engine {
  /** @param {WebAssembly.Module} compiled */
  constructor(compiled) {
    const plugins = new Plugins();
    this.exports = /** @type {Exports} */ (
      /** @type {unknown} */ (new WebAssembly.Instance(compiled, plugins.imports).exports)
    );
    plugins.memory = this.exports.memory;
  }

  /**
   * Sends a request as defined in crates/wasm/src/ask.rs; returns its result.
   *
   * @template {Verb} V
   * @param {Question<V>} request
   * @returns {Answers[V]}
   */
  ask(request) {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const { input, ask, memory } = this.exports;
    const at = input(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    let length;
    try {
      length = ask();
    } catch (trap) {
      const why = trap instanceof Error ? trap.message : String(trap);
      throw new Error(`a bug in duetime: ${this.read(this.exports.panicked()) || why}`);
    }
    const answer = JSON.parse(this.read(length));
    if (answer.mistake) throw new Mistake(answer.mistake);
    if (answer.refused) throw new Error(answer.refused);
    return answer.done;
  }

  /**
   * Returns a text from the memory of the simulator.
   *
   * @param {number} length
   */
  read(length) {
    return new TextDecoder().decode(
      new Uint8Array(this.exports.memory.buffer, this.exports.answer(), length),
    );
  }

  /**
   * Runs a scenario to its end, with a call of `progress` about ten times a second.
   *
   * @param {Asked} of
   * @param {Log | null} log
   * @param {(share: number, packets_delivered: number) => void} [progress]
   * @returns {Finished}
   */
  run(of, log, progress) {
    this.ask({ verb: "start", of, log });
    let events = 10_000;
    for (;;) {
      const began = performance.now();
      const { more, now_s, duration_s, packets_delivered } = this.ask({ verb: "advance", events });
      if (!more) return this.ask({ verb: "finish" });
      progress?.(now_s / duration_s, packets_delivered);
      const factor = Math.min(4, Math.max(0.25, 100 / Math.max(performance.now() - began, 0.1)));
      events = Math.round(Math.min(1e9, Math.max(1000, events * factor)));
    }
  }
}
