// Numbers, times and counts as people read them.

const DIGITS = { float16: 5, bfloat16: 4, float32: 9, float64: 17, float: 17 };

/**
 * The shortest text that is still exactly this number of its type.
 * @param {number | string | boolean} value as the server sends it; text is exact already
 * @param {string} type dtype
 */
export function exact(value, type) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return value;
  if (!isFloat(type)) return String(value);
  if (type === "float32") {
    for (let digits = 1; digits <= DIGITS.float32; digits += 1) {
      const text = Number(value.toPrecision(digits));
      if (Math.fround(text) === value) return withPoint(text);
    }
  }
  if (type === "float16" || type === "bfloat16") return withPoint(Number(value.toPrecision(DIGITS[type])));
  return withPoint(value);
}

/** With three decimals where it is no whole number's type. */
export function rounded(value, type) {
  if (typeof value !== "number" || !isFloat(type)) return exact(value, type);
  const size = Math.abs(value);
  return size !== 0 && (size < 0.0005 || size >= 1e7) ? value.toExponential(3) : value.toFixed(3);
}

/** A number of a chart or a table: short. @param {number | string | null} value */
export function short(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
  return String(Number(value.toPrecision(5)));
}

/** @param {number | null} seconds */
export function duration(seconds) {
  if (seconds === null) return "–";
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** @param {string} moment ISO 8601 */
export function date(moment) {
  return moment ? new Date(moment).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : "–";
}

/** @param {number} number @param {string} noun @param {string} plural */
export function count(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

function isFloat(type) {
  return type.includes("float") || type.startsWith(">f") || type.startsWith("<f");
}

function withPoint(value) {
  const text = String(value);
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}
