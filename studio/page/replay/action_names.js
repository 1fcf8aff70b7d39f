// What a number of an action means, where the recording says so.

/** @param {import("./values.js").Value | undefined} action @param {string[]} names of discrete actions */
export function actionName(action, names) {
  if (!action) return "";
  const number = action.kind === "array" && !action.shape.length ? action.values : action.value;
  return typeof number === "number" ? (names[number] ?? "") : "";
}
