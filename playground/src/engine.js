// The simulator: calls the WebAssembly of crates/wasm, in a worker or in node.
"use strict";

class Mistake extends Error {
  /** A mistake in a scenario: file, line, column, message, hint, shown. */
  constructor(mistake) {
    super(mistake.message);
    Object.assign(this, mistake);
  }
}

class Engine {
  /** @param {WebAssembly.Module} module the compiled simulator */
  constructor(module) {
    this.exports = new WebAssembly.Instance(module, {}).exports;
  }

  /** Sends a request as defined in crates/wasm/src/ask.rs; returns its result. */
  ask(request) {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const { input, ask, memory } = this.exports;
    const at = input(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    let length;
    try {
      length = ask();
    } catch (trap) {
      throw new Error(`a bug in duetime: ${this.read(this.exports.panicked()) || trap.message}`);
    }
    const answer = JSON.parse(this.read(length));
    if (answer.mistake) throw new Mistake(answer.mistake);
    if (answer.refused) throw new Error(answer.refused);
    return answer.done;
  }

  read(length) {
    return new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, this.exports.answer(), length));
  }

  /** Runs a scenario to its end. progress(share of the time, packets delivered) is called about ten times a
   * second. */
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

if (typeof module !== "undefined") module.exports = { Engine, Mistake };
