// Pictograms of the transport, drawn so that they do not depend on the fonts of a machine.
import { html } from "../html.js";

const PATHS = {
  first: "M5 4h2.4v12H5zM16 4v12L8 10z",
  before: "M14 4v12L5.5 10z",
  play: "M6 3.5v13L17 10z",
  pause: "M5 4h3.6v12H5zM11.4 4H15v12h-3.6z",
  next: "M6 4v12l8.5-6z",
  last: "M4 4v12l8-6zM12.6 4H15v12h-2.4z",
};

/** @param {{name: keyof typeof PATHS}} props */
export function Icon({ name }) {
  return html`<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" focusable="false"><path fill="currentColor" d=${PATHS[name]} /></svg>`;
}
