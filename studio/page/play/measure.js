// How fast pictures come, how long one waits for the picture that answers a key, and how far the server is.

const REMEMBERED = 30;

export class Measure {
  constructor() {
    this._painted = /** @type {number[]} */ ([]);
    this._answers = /** @type {number[]} */ ([]);
    this._pressed = /** @type {{ms: number, step: number} | null} */ (null);
    this._step = 0;
    this.roundTripMs = /** @type {number | null} */ (null); // the server measures it
  }

  /** A key went down. */
  press() {
    this._pressed ??= { ms: performance.now(), step: this._step };
  }

  /** A frame was painted. @param {number} step */
  paint(step) {
    const now = performance.now();
    if (step < this._step) this._pressed = null; // another episode
    this._step = step;
    this._painted = [...this._painted, now].slice(-REMEMBERED);
    this.answer(step);
  }

  /** A step is seen, be it ahead. @param {number} step */
  answer(step) {
    const now = performance.now();
    if (this._pressed && step > this._pressed.step) {
      this._answers = [...this._answers, now - this._pressed.ms].slice(-REMEMBERED);
      this._pressed = null;
    }
  }

  /** What was pressed before a pause is not answered by what comes after it. */
  forget() {
    this._pressed = null;
  }

  /** Frames a second, over the last ones; null: too few, or too long ago. */
  get rate() {
    const [first] = this._painted;
    const last = this._painted[this._painted.length - 1];
    if (this._painted.length < 3 || performance.now() - last > 1500) return null;
    return ((this._painted.length - 1) * 1000) / (last - first);
  }

  /** Median milliseconds from a key to the picture after the step it made. */
  get answerMs() {
    const sorted = [...this._answers].sort((one, other) => one - other);
    return sorted.length ? sorted[Math.floor(sorted.length / 2)] : null;
  }
}
