// Everything that a person holds now, from all devices: keys, gamepads, buttons on the screen.

const NANOSECONDS = 1e6;

export class Held {
  /** @param {(held: Record<string, number>, timeNs: number) => void} changed called whenever it is something else */
  constructor(changed) {
    this._changed = changed;
    this._of = /** @type {Record<string, Record<string, number>>} */ ({});
    this._told = "{}";
  }

  /** All of it, in the order in which it went down. @returns {Record<string, number>} */
  get all() {
    return Object.assign({}, ...Object.values(this._of));
  }

  /** @param {string} device @param {Record<string, number>} held all that is held there */
  set(device, held) {
    this._of[device] = held;
    const { all } = this;
    const text = JSON.stringify(all);
    if (text === this._told) return;
    this._told = text;
    this._changed(all, Math.round(performance.now() * NANOSECONDS));
  }

  /** Lets everything go. */
  clear() {
    for (const device of Object.keys(this._of)) this.set(device, {});
  }

  /** Tells all anew, to a person who does not know it. */
  repeat() {
    this._told = "";
    const [device = "keyboard"] = Object.keys(this._of);
    this.set(device, this._of[device] ?? {});
  }
}
