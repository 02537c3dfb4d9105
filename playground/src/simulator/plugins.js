// Congestion controllers of the reader's own: WebAssembly modules that the simulator calls through its imports.

// The functions of events, in the order of `Event` in crates/transport/src/controllers/plugin.rs.
const EVENTS = ["open", "on_ack", "on_beyond", "on_loss", "on_timeout", "on_message"];
// The places of a module's blocks.
const PLACES = ["event", "state", "state_size"];
// The bytes of an event: 25 numbers, and two for each of 1000 messages.
const EVENT_BYTES = 8 * (25 + 2 * 1000);
// The reasons for which a module cannot be used, as crates/wasm/src/modules.rs numbers them.
const INVALID = -1;
const IMPORTS = -2;
const LACKS = -3;
const OUTSIDE = -4;

/** @typedef {(...numbers: number[]) => number} Callable */

/**
 * A module with a memory of its own.
 *
 * @typedef {object} Law
 * @property {WebAssembly.Memory} memory Holds the blocks.
 * @property {number} event The address of the numbers of a call.
 * @property {number} state The address of a connection's state.
 * @property {number} size The bytes of a connection's state.
 * @property {(Callable | undefined)[]} calls The functions of the events.
 */

/** The modules of one simulator. */
export class Plugins {
  constructor() {
    /** @type {WebAssembly.Memory | null} */
    this.memory = null;
    /** @type {Law[]} */
    this.laws = [];
    this.imports = {
      plugin: {
        open: this.open.bind(this),
        state_size: (/** @type {number} */ law) => this.laws[law].size,
        handles: (/** @type {number} */ law, /** @type {number} */ event) =>
          this.laws[law].calls[event] ? 1 : 0,
        call: this.call.bind(this),
      },
    };
  }

  /** Returns the memory of the simulator, whose buffer may be another one after each call. */
  get buffer() {
    if (!this.memory) throw new Error("the simulator has no memory");
    return this.memory.buffer;
  }

  /**
   * Instantiates a module, and writes the values of its keys into its memory; returns its number.
   *
   * @param {number} at
   * @param {number} length
   * @param {number} keys
   * @param {number} count
   */
  open(at, length, keys, count) {
    let exports;
    try {
      const compiled = new WebAssembly.Module(this.buffer.slice(at, at + length));
      if (WebAssembly.Module.imports(compiled).length) return IMPORTS;
      ({ exports } = new WebAssembly.Instance(compiled, {}));
    } catch {
      return INVALID;
    }
    const { memory } = exports;
    /** @param {string} name */
    const callable = (name) => /** @type {Callable | undefined} */ (exports[name]);
    const needed = [...PLACES, "on_ack", ...(count ? ["keys"] : [])];
    if (!(memory instanceof WebAssembly.Memory) || !needed.every(callable)) return LACKS;
    try {
      const [event, state, size] = PLACES.map((name) => Number(callable(name)?.()) >>> 0);
      new Uint8Array(memory.buffer, event, EVENT_BYTES);
      new Uint8Array(memory.buffer, state, size);
      copy(this.buffer, keys, memory.buffer, Number(callable("keys")?.() ?? 0), 8 * count);
      return this.laws.push({ memory, event, state, size, calls: EVENTS.map(callable) }) - 1;
    } catch {
      return OUTSIDE;
    }
  }

  /**
   * Calls the function of an event with a connection's state, the numbers of the call and the queued messages. Returns
   * 1 if it traps.
   *
   * @param {number} law
   * @param {number} event
   * @param {number} state
   * @param {number} size
   * @param {number} view
   * @param {number} later
   * @param {number} count
   */
  call(law, event, state, size, view, later, count) {
    const own = this.laws[law];
    copy(this.buffer, state, own.memory.buffer, own.state, size);
    copy(this.buffer, view, own.memory.buffer, own.event, 8 * 25);
    copy(this.buffer, later, own.memory.buffer, own.event + 8 * 25, 8 * count);
    try {
      own.calls[event]?.();
    } catch {
      return 1;
    }
    copy(own.memory.buffer, own.state, this.buffer, state, size);
    copy(own.memory.buffer, own.event, this.buffer, view, 8 * 3);
    return 0;
  }
}

/**
 * Copies bytes from one memory to another.
 *
 * @param {ArrayBuffer} from
 * @param {number} at
 * @param {ArrayBuffer} to
 * @param {number} place
 * @param {number} length
 */
function copy(from, at, to, place, length) {
  new Uint8Array(to, place, length).set(new Uint8Array(from, at, length));
}
