// The controls of the replay, and its clock at any speed.
import { number } from "../numbers.js";
import { part } from "../page/dom.js";
import { paint } from "./painting.js";
import { story, tell } from "./story.js";

/** @import { Run } from "../types.d.ts" */
/** @import { Story } from "./story.js" */

/** The replay of one run: `show(run, mark)` replaces the run. */
export class Player {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.canvas = part(root, "canvas", HTMLCanvasElement);
    this.time = part(root, "time", HTMLInputElement);
    this.speed = part(root, "speed", HTMLInputElement);
    this.button = part(root, "play", HTMLButtonElement);
    this.told = part(root, "told");
    this.rate = part(root, "rate");
    /** @type {Story | null} */
    this.current = null;
    /** @type {number | undefined} */
    this.mark = undefined;
    this.now = 0;
    this.playing = false;
    /** @type {number | null} */
    this.drawn = null;
    this.button.addEventListener("click", () => this.toggle());
    part(root, "back").addEventListener("click", () => this.step(false));
    part(root, "forth").addEventListener("click", () => this.step(true));
    this.time.addEventListener("input", () => this.seek());
    this.speed.addEventListener("input", () => this.say_rate());
    this.say_rate();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /**
   * Shows the begin of a run; hides the replay without one.
   *
   * @param {Run | null} run
   * @param {number} [mark]
   */
  show(run, mark) {
    this.set_playing(false);
    this.current = run ? story(run) : null;
    this.mark = mark;
    this.root.hidden = !this.current;
    if (!this.current) return;
    const { begin, end } = this.current;
    this.now = begin;
    this.time.max = String(end - begin);
    this.time.step = String(Math.max(0.001, (end - begin) / 5000));
    this.draw();
  }

  /** Draws the present time, and tells it in words. */
  draw() {
    const { current, now, time } = this;
    if (!current) return;
    time.value = String(now - current.begin);
    time.setAttribute("aria-valuetext", `${((now - current.begin) / 1000).toFixed(3)} ms`);
    this.told.textContent = tell(current, now, this.mark);
    paint(this.canvas, current, now, this.mark);
  }

  /** Returns the ratio of the replay's time to simulated time. */
  slower() {
    return 10 ** Number(this.speed.value);
  }

  /**
   * Starts or stops the clock.
   *
   * @param {boolean} on
   */
  set_playing(on) {
    this.playing = on;
    this.button.textContent = on ? "Pause" : "Play";
    this.drawn = null;
    if (on) this.next_frame();
  }

  /** Plays, from the begin if the end is reached, or pauses. */
  toggle() {
    const { current } = this;
    if (!this.playing && current && this.now >= current.end) this.now = current.begin;
    this.set_playing(!this.playing);
  }

  /** Draws again with the next frame of the screen. */
  next_frame() {
    requestAnimationFrame((at) => this.frame(at));
  }

  /**
   * Advances the clock to a frame of the screen.
   *
   * @param {number} at
   */
  frame(at) {
    if (!this.playing || !this.current) return;
    if (this.drawn !== null) this.now += ((at - this.drawn) * 1000) / this.slower();
    this.drawn = at;
    if (this.now >= this.current.end) {
      this.now = this.current.end;
      this.set_playing(false);
    }
    this.draw();
    if (this.playing) this.next_frame();
  }

  /**
   * Steps to the next or the former event.
   *
   * @param {boolean} forwards
   */
  step(forwards) {
    const { current } = this;
    if (!current) return;
    this.set_playing(false);
    const { times, begin, end } = current;
    const next = forwards ? times.find((at) => at > this.now) : times.findLast((at) => at < this.now);
    this.now = next ?? (forwards ? end : begin);
    this.draw();
  }

  /** Jumps to the time of the slider. */
  seek() {
    this.set_playing(false);
    if (!this.current) return;
    this.now = this.current.begin + Number(this.time.value);
    this.draw();
  }

  /** Tells the speed in words. */
  say_rate() {
    const times = this.slower();
    const takes = times / 1000;
    const shown = takes >= 1 ? `${number(takes)} s` : `${number(times)} ms`;
    const told = `${number(times, 2)} × slower than real time: 1 ms takes ${shown}`;
    this.rate.textContent = told;
    this.speed.setAttribute("aria-valuetext", told);
  }
}
