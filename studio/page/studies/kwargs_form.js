// The form of an environment's arguments, made from its JSON schema.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { SchemaField } from "./schema_field.js";

/** @param {{id: string, kwargs: Record<string, any>, set: (kwargs: Record<string, any>) => void}} props only what differs from the defaults is set */
export function KwargsForm({ id, kwargs, set }) {
  const [schema, setSchema] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    request(`environments/${id}/schema`, { signal: controller.signal }).then(
      (answer) => setSchema(answer.schema),
      (error) => error.name !== "AbortError" && setProblem(error.message),
    );
    return () => controller.abort();
  }, [id]);
  if (problem) return html`<p class="problem" role="alert">${problem}</p>`;
  if (!schema) return html`<p class="muted small" role="status">Looking up its settings…</p>`;

  const known = Object.entries(schema.properties);
  const others = Object.fromEntries(Object.entries(kwargs).filter(([name]) => !(name in schema.properties)));
  const setOne = (name, value) => {
    const { [name]: _, ...rest } = kwargs;
    set(value === undefined ? rest : { ...rest, [name]: value });
  };
  const setOthers = (values = {}) => {
    const kept = Object.entries(kwargs).filter(([name]) => name in schema.properties);
    set({ ...Object.fromEntries(kept), ...values });
  };
  const changed = Object.keys(kwargs).length;
  if (known.length === 0 && !schema.additionalProperties && changed === 0) {
    return html`<p class="muted small">This environment has no settings.</p>`;
  }
  return html`
    <details open=${schema.required.length > 0 || changed > 0}>
      <summary>Settings of the environment
        <span class="chip ${changed ? "accent" : ""}">${changed ? `${changed} changed` : "all as they are by default"}</span></summary>
      <div class="grid kwargs">
        ${known.map(
          ([name, property]) => html`<${SchemaField} key=${name} name=${name} schema=${property} value=${kwargs[name]}
            isRequired=${schema.required.includes(name)} set=${(value) => setOne(name, value)} />`,
        )}
        ${(schema.additionalProperties || Object.keys(others).length > 0) &&
        html`<${SchemaField} name="other settings" schema=${{ type: "object", default: {} }}
          value=${Object.keys(others).length ? others : undefined} isRequired=${false} set=${setOthers} />`}
      </div>
    </details>
  `;
}
