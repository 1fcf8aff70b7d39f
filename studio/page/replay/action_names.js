// What a number of an action means, where the recording says so: a name that is the number again says nothing.

/** @param {import("./values.js").Value | undefined} action @param {string[]} names of discrete actions */
export function actionName(action, names) {
  if (!action) return "";
  const number = action.kind === "array" && !action.shape.length ? action.values : action.value;
  const name = typeof number === "number" ? (names[number] ?? "") : "";
  return name === String(number) ? "" : name;
}
