// The pictures of steps: which there are, and their pixels, exactly as recorded.

/** @typedef {import("./steps.js").Step} Step */
/** @typedef {import("./values.js").Value} Value */
/** @typedef {{field: string, frame: number}} Picture a place in the step, and which of the frames there */

/** What the environment draws, where no picture was recorded: made again from seed and actions. @type {any} */
export const DRAWN = { kind: "image", place: "drawn again", frames: 1, isDrawnAgain: true };
const MOST_PIXELS = 64_000_000; // 256 MB of bitmaps
const ASKED = /^(screen|shown|render|rgb|image|frame|picture|pixels|front)/;

/** Every picture of a step with its place, in the order of the fields. @param {Step} step */
export function picturesIn(step) {
  const found = [];
  const look = (value) => {
    if (value.kind === "image") found.push(value);
    for (const item of value.items ?? []) look(Array.isArray(item) ? item[1] : item);
  };
  for (const { value } of step.fields) look(value);
  return found.length === 0 && step.canBeDrawn ? [DRAWN] : found;
}

/** Which picture to begin with: what looks like the screen, else the first one. @param {Value[]} pictures */
export function firstShown(pictures) {
  const called = pictures.find((picture) => ASKED.test(picture.place.split("/").at(-1)));
  const chosen = called ?? pictures[0];
  return chosen ? [{ field: chosen.place, frame: chosen.frames - 1 }] : [];
}

/** The name of a picture, as short as it is clear. @param {string} place a JSON Pointer @param {string[]} places of all */
export function nameOf(place, places) {
  const parts = place.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const short = parts.at(-1) ?? place;
  const isAlone = places.filter((each) => each === place || each.endsWith(`/${short}`)).length < 2;
  return isAlone ? short : parts.join(" / ");
}

export class Pictures {
  /** @param {string} episode id */
  constructor(episode) {
    this.episode = episode;
    /** @type {Map<string, ImageBitmap>} in order of use */
    this.loaded = new Map();
    /** @type {Map<string, Promise<ImageBitmap>>} */
    this.underway = new Map();
    this.pixels = 0;
  }

  /** Where a picture can be opened on its own. @param {number} step @param {Picture} picture */
  address(step, { field, frame }) {
    if (field === DRAWN.place) return `/api/replay/${this.episode}/drawn/${step}`;
    return `/api/replay/${this.episode}/image/${step}?${new URLSearchParams({ field, frame: String(frame) })}`;
  }

  /** @returns {ImageBitmap | undefined} */
  get(step, picture) {
    const address = this.address(step, picture);
    const found = this.loaded.get(address);
    if (found) {
      this.loaded.delete(address);
      this.loaded.set(address, found);
    }
    return found;
  }

  /** @returns {Promise<ImageBitmap>} */
  load(step, picture) {
    const there = this.get(step, picture);
    if (there) return Promise.resolve(there);
    const address = this.address(step, picture);
    let loading = this.underway.get(address);
    if (!loading) {
      loading = fetchBitmap(address)
        .then((bitmap) => this.#keep(address, bitmap))
        .finally(() => this.underway.delete(address));
      this.underway.set(address, loading);
    }
    return loading;
  }

  close() {
    for (const bitmap of this.loaded.values()) bitmap.close();
    this.loaded.clear();
  }

  #keep(address, bitmap) {
    this.loaded.set(address, bitmap);
    this.pixels += bitmap.width * bitmap.height;
    while (this.pixels > MOST_PIXELS && this.loaded.size > 1) {
      const [oldest, unused] = this.loaded.entries().next().value;
      this.loaded.delete(oldest);
      this.pixels -= unused.width * unused.height;
      unused.close();
    }
    return bitmap;
  }
}

async function fetchBitmap(address) {
  const response = await fetch(address);
  if (!response.ok) {
    const body = await response.json().catch(() => null);
    throw new Error(body?.error?.message ?? `The server answered ${response.status}.`);
  }
  // No conversion: what is drawn is what was recorded.
  return createImageBitmap(await response.blob(), { premultiplyAlpha: "none", colorSpaceConversion: "none" });
}
