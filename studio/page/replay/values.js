// Recorded values as the server sends them, and their short forms.
import { exact, rounded } from "../format.js";

/**
 * @typedef {object} Value
 * @property {"image"|"number"|"text"|"bytes"|"none"|"array"|"dict"|"list"|"tuple"|"other"|"cut"} kind
 * @property {string} [type] of a number
 * @property {any} [value] of a number or text
 * @property {string} [dtype] of an array
 * @property {number[]} [shape]
 * @property {any} [values] of an array, nested
 * @property {any[]} [cut] the first ones of a large array
 * @property {{min: any, max: any, mean: any}} [summary] of a large array
 * @property {any[]} [items] of a dict, [key, value]; of a list or tuple, values
 * @property {number} [size]
 * @property {string} [place] of a picture
 * @property {number} [frames] of a picture
 * @property {boolean} [exact] whether a picture shows what was recorded, number by number
 */

const MOST_INLINE = 8;

/** Least, greatest and mean of an array. @param {Value} value @returns {{min: any, max: any, mean: any} | null} */
export function summary(value) {
  if (value.summary) return value.summary;
  const flat = flatten(value).map(Number);
  if (!flat.length || flat.some(Number.isNaN)) return null;
  return { min: Math.min(...flat), max: Math.max(...flat), mean: flat.reduce((a, b) => a + b, 0) / flat.length };
}

/** The numbers of an array in one row. @param {Value} value @returns {any[]} */
export function flatten(value) {
  if (value.cut) return value.cut;
  return Array.isArray(value.values) ? value.values.flat(Infinity) : [value.values];
}

/** Whether a value needs no line of its own below its name. @param {Value} value */
export function isInline(value) {
  if (value.kind === "array") return !value.cut && flatten(value).length <= MOST_INLINE && value.shape.length < 2;
  if (value.kind === "text") return value.value.length <= 60 && !value.value.includes("\n");
  return !["dict", "list", "tuple", "image"].includes(value.kind) || value.size === 0;
}

/** A value in a line. @param {Value} value @param {boolean} isRounded whether floats have three decimals */
export function inline(value, isRounded) {
  const write = isRounded ? rounded : exact;
  switch (value.kind) {
    case "number":
      return write(value.value, value.type);
    case "array":
      return arrayInline(value, write);
    case "text":
      return value.value;
    case "none":
      return "None";
    case "bytes":
      return `${value.size} bytes ${value.hex.slice(0, 32)}${value.size > 16 ? "…" : ""}`;
    case "dict":
    case "list":
    case "tuple":
      return nestInline(value, isRounded);
    case "cut":
      return "…";
    case "image":
      return `${value.dtype} ${value.shape.join("×")}`;
    default:
      return value.text ?? "";
  }
}

function arrayInline(value, write) {
  if (!value.shape.length) return write(flatten(value)[0], value.dtype);
  const numbers = flatten(value).slice(0, MOST_INLINE).map((each) => write(each, value.dtype));
  const isCut = value.cut || flatten(value).length > MOST_INLINE;
  return `[${numbers.join(", ")}${isCut ? ", …" : ""}]`;
}

function nestInline(value, isRounded) {
  const parts = value.items.slice(0, MOST_INLINE).map((item) =>
    value.kind === "dict" ? `${item[0]}: ${inline(item[1], isRounded)}` : inline(item, isRounded));
  if (value.size > MOST_INLINE) parts.push("…");
  const [open, close] = { dict: ["{", "}"], list: ["[", "]"], tuple: ["(", ")"] }[value.kind];
  return open + parts.join(", ") + close;
}
