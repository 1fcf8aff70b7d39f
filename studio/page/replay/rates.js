// How fast steps can be played.

const USUAL = [1, 2, 5, 10, 15, 30, 60, 120, 240];

/** The speeds to choose from, that of the recording among them. @param {number} recorded @param {number} chosen */
export function rates(recorded, chosen) {
  return [...new Set([...USUAL, recorded, chosen])].sort((a, b) => a - b);
}

/** @param {number} rate */
export function rateWritten(rate) {
  return Number.isInteger(rate) ? String(rate) : rate.toPrecision(3);
}
