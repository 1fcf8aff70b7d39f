// Paints frames: the newest only. A frame that a newer one overtakes is never decoded, and never acknowledged.
// The last one stays, so that a picture ahead that does not come true can be taken back.
import { NOTHING, TEXT } from "./frame.js";

/** @typedef {import("./frame.js").Frame} Frame */

export class Painter {
  /**
   * @param {(frame: Frame, picture: ImageBitmap | string | null) => void} show puts it on the screen
   * @param {(frame: Frame) => void} painted called after that
   */
  constructor(show, painted) {
    this._show = show;
    this._painted = painted;
    this._newest = /** @type {Frame | null} */ (null);
    this._last = /** @type {{frame: Frame, picture: ImageBitmap | string | null} | null} */ (null);
    this._isBusy = false;
    this._isOver = false;
  }

  /** @param {Frame} frame */
  take(frame) {
    this._newest = frame;
    if (!this._isBusy) this._work();
  }

  /** Puts the last frame on the screen again, in place of what hides it. */
  again() {
    if (this._last) this._show(this._last.frame, this._last.picture);
  }

  stop() {
    this._isOver = true;
    this._keep(null);
  }

  _keep(last) {
    if (this._last?.picture instanceof ImageBitmap) this._last.picture.close();
    this._last = last;
  }

  async _work() {
    this._isBusy = true;
    while (this._newest && !this._isOver) {
      const frame = this._newest;
      this._newest = null;
      const picture = await decode(frame);
      await new Promise(requestAnimationFrame); // a hidden tab paints, and acknowledges, nothing
      if (this._isOver) break;
      this._show(frame, picture);
      this._keep({ frame, picture });
      this._painted(frame);
    }
    this._isBusy = false;
  }
}

/** What a frame shows. @param {Frame} frame @returns {Promise<ImageBitmap | string | null>} */
export async function decode(frame) {
  if (frame.codec === TEXT) return new TextDecoder().decode(frame.payload);
  if (frame.codec === NOTHING) return null;
  try {
    return await createImageBitmap(new Blob([frame.payload], { type: frame.type }));
  } catch {
    return "This picture is broken.";
  }
}
