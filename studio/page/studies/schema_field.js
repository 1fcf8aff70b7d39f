// A field for one property of a JSON schema. `undefined` is its default.
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.js";

/**
 * @param {{name: string, schema: any, value: any, isRequired: boolean, set: (value: any) => void}} props
 */
export function SchemaField({ name, schema, value, isRequired, set }) {
  const kind = kindOf(schema);
  const title = name.replaceAll("_", " ");
  const change = (chosen) => set(isSame(chosen, schema.default) ? undefined : chosen);
  const shown = value === undefined ? schema.default : value;
  if (kind === "boolean") {
    return html`<label class="inline tall"><input type="checkbox" checked=${shown === true}
      onChange=${(event) => change(event.target.checked)} /> <span>${title}</span></label>`;
  }
  if (kind === "enum") {
    const options = optionsOf(schema);
    const at = options.findIndex((each) => isSame(each, shown));
    return html`<label>${title}
      <select required=${isRequired} value=${at} onChange=${(event) => change(options[Number(event.target.value)])}>
        ${at < 0 && html`<option value="-1" disabled selected>choose…</option>`}
        ${options.map((each, number) => html`<option value=${number} selected=${number === at}>${each === null ? "none" : String(each)}</option>`)}
      </select></label>`;
  }
  return html`<${TextField} title=${title} kind=${kind} schema=${schema} value=${value} isRequired=${isRequired} set=${change} />`;
}

function TextField({ title, kind, schema, value, isRequired, set }) {
  const written = value === undefined ? "" : write(value, kind);
  const [text, setText] = useState(written);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (problem === "" && !isSame(readOr(text, kind), value)) setText(written);
  }, [written]);
  const onInput = (event) => {
    setText(event.target.value);
    try {
      set(event.target.value === "" ? undefined : read(event.target.value, kind));
      setProblem("");
      event.target.setCustomValidity("");
    } catch (error) {
      setProblem(error.message);
      event.target.setCustomValidity(error.message); // the form is not sent with an invalid value
    }
  };
  const byDefault = schema.default === undefined ? "" : write(schema.default, kind) || "empty";
  const props = { value: text, placeholder: byDefault, required: isRequired, spellcheck: false, onInput, "aria-invalid": problem !== "" };
  return html`<label>${title}
    ${kind === "json" ? html`<textarea class="mono" rows="1" ...${props} />` : html`<input inputmode=${kind === "string" ? undefined : "decimal"} ...${props} />`}
    ${problem && html`<span class="wrong">${problem}</span>`}
    ${!problem && kind === "json" && html`<span class="hint">${hintOf(schema)}</span>`}
  </label>`;
}

/** @returns {"boolean" | "enum" | "integer" | "number" | "string" | "json"} */
function kindOf(schema) {
  if (optionsOf(schema)) return "enum";
  const types = typesOf(schema);
  return types.length === 1 && ["boolean", "integer", "number", "string"].includes(types[0]) ? types[0] : "json";
}

/** Types besides null: a field that is left empty has its default. */
function typesOf(schema) {
  const all = schema.anyOf ? schema.anyOf.flatMap(typesOf) : [schema.type];
  const known = [...new Set(all.filter((each) => each !== "null"))];
  return known.includes("number") ? known.filter((each) => each !== "integer") : known;
}

function optionsOf(schema) {
  if (schema.enum) return schema.enum;
  const withNull = schema.anyOf?.length === 2 && schema.anyOf.find((each) => each.type === "null");
  const values = withNull && schema.anyOf.find((each) => each.enum)?.enum;
  return values ? [...values, null] : null;
}

function write(value, kind) {
  return kind === "json" || value === null ? JSON.stringify(value) : String(value);
}

/** @returns {any} @throws {Error} that says what was expected */
function read(text, kind) {
  if (kind === "string") return text;
  if (kind === "json") {
    try {
      return JSON.parse(text);
    } catch {
      throw new Error('expected JSON, such as 3, "text", [1, 2], {"name": true} or null');
    }
  }
  if (text.trim() === "null") return null;
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) throw new Error("expected a number");
  if (kind === "integer" && !Number.isInteger(number)) throw new Error("expected a whole number");
  return number;
}

function readOr(text, kind) {
  try {
    return text === "" ? undefined : read(text, kind);
  } catch {
    return undefined;
  }
}

function hintOf(schema) {
  const types = typesOf(schema).filter(Boolean);
  return types.length ? `${types.join(" or ")}, written as JSON` : "written as JSON";
}

function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
