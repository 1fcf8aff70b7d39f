// The steps of an episode in the page: each is requested once, they are loaded ahead, and the longest unused ones let go.
import { request } from "../api.js";
import { Pictures, picturesIn } from "./pictures.js";
import { screenText } from "./screen_text.js";

/** @typedef {import("./values.js").Value} Value */
/** @typedef {{name: string, defined: boolean, value: Value}} Field */
/** @typedef {{seat: string, driver: string, keys: Record<string, number>, shown_frame: number | null, is_default: boolean}} Person */
/** @typedef {{step: number, fields: Field[], flags: string[], people: Person[], boxes: import("./boxes.js").Box[], canBeDrawn?: boolean}} Step */

const MOST_KEPT = 512;

export class Steps {
  /** @param {string} episode id @param {boolean} canBeDrawn where no picture was recorded */
  constructor(episode, canBeDrawn = false) {
    this.episode = episode;
    this.canBeDrawn = canBeDrawn;
    this.pictures = new Pictures(episode);
    /** @type {Map<number, Step>} in order of use */
    this.loaded = new Map();
    /** @type {Map<number, Promise<Step>>} */
    this.underway = new Map();
    /** @type {import("./pictures.js").Picture[]} that are on the page */
    this.shown = [];
  }

  /** @returns {Step | undefined} if it is here */
  get(step) {
    const found = this.loaded.get(step);
    if (found) {
      this.loaded.delete(step);
      this.loaded.set(step, found);
    }
    return found;
  }

  /** Whether a step can be shown at once, with its pictures. */
  isReady(step) {
    const found = this.loaded.get(step);
    return Boolean(found) && this.#wanted(found).every((picture) => this.pictures.get(step, picture));
  }

  /** @returns {Promise<Step>} */
  load(step) {
    const there = this.get(step);
    if (there) return Promise.resolve(there);
    let loading = this.underway.get(step);
    if (!loading) {
      loading = request(`replay/${this.episode}/step/${step}`)
        .then((found) => this.#keep(step, found))
        .finally(() => this.underway.delete(step));
      this.underway.set(step, loading);
    }
    return loading;
  }

  /**
   * Loads steps with their pictures before they are shown; what fails is requested again when it is shown.
   * @param {number[]} steps @param {import("./pictures.js").Picture[]} shown pictures
   */
  ahead(steps, shown = this.shown) {
    this.shown = shown;
    for (const step of steps) {
      this.load(step)
        .then((found) => Promise.all(this.#wanted(found).map((picture) => this.pictures.load(step, picture))))
        .catch(() => {});
    }
  }

  /** Forgets a step that was the last one of an episode that grows: its action came later. */
  forget(step) {
    this.loaded.delete(step);
  }

  close() {
    this.pictures.close();
  }

  #wanted(step) {
    const there = new Set(picturesIn(step).map((picture) => picture.place));
    return this.shown.filter((picture) => there.has(picture.field));
  }

  #keep(step, found) {
    found.canBeDrawn = this.canBeDrawn && screenText(found) === null;
    this.loaded.set(step, found);
    if (this.loaded.size > MOST_KEPT) this.loaded.delete(this.loaded.keys().next().value);
    return found;
  }
}
