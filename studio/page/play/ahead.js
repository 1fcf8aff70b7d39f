// Pictures of possible next steps, which the server has sent ahead: a key shows its picture at once.
// The true picture takes its place when it comes. What was shown, and when, is sent back and recorded.
import { actionOf } from "./chords.js";
import { decode } from "./painter.js";

/**
 * @typedef {import("./frame.js").Frame} Frame
 * @typedef {{frame: Frame, picture: ImageBitmap | string | null}} Possible
 * @typedef {{show: (picture: ImageBitmap | string | null) => void, shown: (step: number) => void,
 *   send: (fields: object) => void, takeBack: () => void}} Screen `shown`: called after that; `takeBack`: shows what is true
 */

export class Ahead {
  /** @param {Screen} screen */
  constructor(screen) {
    this._screen = screen;
    this._possible = /** @type {Map<number, Possible>} */ (new Map()); // by action
    this._isDue = false;
    this.forget();
  }

  /** The number of the picture ahead that hides the true one; null: there is none. */
  get onScreen() {
    return this._shown?.frame.sequence ?? null;
  }

  /** One has come. @param {Frame} frame */
  async take(frame) {
    this._received = frame.sequence;
    this._acknowledge();
    const picture = await decode(frame);
    if (frame.sequence > this._received || frame.serverMs < this._trueMs) {
      close(picture); // of a connection, or of a step, that is over
      return;
    }
    close(this._possible.get(frame.action)?.picture);
    const found = { frame, picture };
    this._possible.set(frame.action, found);
    if (frame.step === this._awaited && frame.action === this._action) this._show(found); // the key came first
  }

  /** Once for all that came since the last frame of the screen. */
  _acknowledge() {
    if (this._isDue) return;
    this._isDue = true;
    requestAnimationFrame(() => {
      this._isDue = false;
      if (this._received > 0) this._screen.send({ seq: this._received });
    });
  }

  /**
   * Something else is held now.
   * @param {Record<string, number>} held all of it
   * @param {import("./codes.js").Controls | undefined} controls
   * @param {number | null} step that a key which went down makes; null: it makes none
   */
  press(held, controls, step) {
    const kept = Object.keys(this._down).filter((key) => key in held);
    const isNew = kept.length < Object.keys(held).length;
    this._down = { ...Object.fromEntries(kept.map((key) => [key, held[key]])), ...held };
    const action = isNew && controls ? actionOf(this._down, controls.chords) : null;
    if (action === null || step === null || this._awaited !== null) return; // several keys at once: the first is shown
    this._awaited = step;
    this._action = action;
    const found = this._possible.get(action);
    if (found?.frame.step === step) this._show(found);
  }

  /** @param {Possible} found */
  _show(found) {
    this._shown = found;
    this._screen.show(found.picture);
    requestAnimationFrame(() => {
      const time = Math.round(performance.now() * 1e6);
      if (this._received > 0) this._screen.send({ seq: this._received, shown: found.frame.sequence, time });
      this._screen.shown(found.frame.step);
    });
  }

  /** A true picture is on the screen. @param {Frame} frame @param {boolean} isFirst of an episode */
  confirm(frame, isFirst) {
    this._trueMs = frame.serverMs;
    this._shown = null;
    if (isFirst || (this._awaited !== null && frame.step >= this._awaited)) this._awaited = null;
    for (const [action, possible] of this._possible) {
      if (possible.frame.serverMs > frame.serverMs) continue; // of the step after this one
      close(possible.picture);
      this._possible.delete(action);
    }
  }

  /** This is all that was done, and no more will be. @param {number} step */
  stand(step) {
    if (this._awaited !== null && step < this._awaited) this.takeBack();
  }

  /** What was pressed makes no step now: the true picture is shown again. */
  takeBack() {
    const isHidden = this._shown !== null;
    this._awaited = null;
    this._shown = null;
    if (isHidden) this._screen.takeBack();
  }

  /** The connection is another one, or there is none any more. */
  forget() {
    for (const { picture } of this._possible.values()) close(picture);
    this._possible.clear();
    this._shown = /** @type {Possible | null} */ (null);
    this._awaited = /** @type {number | null} */ (null); // the step that a key has made
    this._action = /** @type {number | null} */ (null); // of that key
    this._down = /** @type {Record<string, number>} */ ({});
    this._received = 0;
    this._trueMs = -Infinity;
  }
}

function close(picture) {
  if (picture instanceof ImageBitmap) picture.close();
}
