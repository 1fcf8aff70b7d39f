// The text that an environment shows.

const COLOUR_CODES = /\u001b\[[\d;]*m/g; // of terminals (ECMA-48, 8.3.117)

/** The observation if it is text, or its only text of several lines; null if there is none. @param {import("./steps.js").Step} values */
export function screenText(values) {
  const observation = values.fields.find(({ name }) => name === "observation")?.value;
  if (!observation) return null;
  if (observation.kind === "text") return observation.value.replace(COLOUR_CODES, "");
  const found = textsIn(observation).filter((text) => text.includes("\n"));
  return found.length ? found.join("\n\n").replace(COLOUR_CODES, "") : null;
}

function textsIn(value) {
  if (value.kind === "text") return [value.value];
  return (value.items ?? []).flatMap((item) => textsIn(Array.isArray(item) ? item[1] : item));
}
