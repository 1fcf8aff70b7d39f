// The keys of an environment's discrete actions, their names, and which one is done while no key is held.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { bodyOf } from "./draft.js";

/** @param {{environment: any, set: (controls: any) => void}} props `controls` of null are those that are known of it */
export function KeysEditor({ environment, set }) {
  const [status, setStatus] = useState("");
  const { controls } = environment;
  const edit = async () => {
    setStatus("Making the environment, to see its actions…");
    try {
      const [wanted] = bodyOf({ name: "", environments: [{ ...environment, controls: null }] }).environments;
      const answer = await request("environments/controls", { method: "POST", body: { environment: wanted } });
      if (answer.controls) set({ actions: answer.controls.actions, default: answer.controls.default });
      setStatus(answer.controls ? "" : "Its actions are numbers; pairs of keys and sticks move them.");
    } catch (error) {
      setStatus(error.message);
    }
  };
  if (!controls) {
    return html`<div class="row small"><button type="button" onClick=${edit}>Edit the keys</button>
      <span class="muted" role="status">${status || "Keys and names are those that are known of the environment."}</span></div>`;
  }
  const change = (at, changes) => set({ ...controls, actions: controls.actions.map((row, number) => (number === at ? { ...row, ...changes } : row)) });
  return html`
    <fieldset class="keys-editor">
      <legend>Keys</legend>
      <table>
        <thead><tr><th scope="col">Action</th><th scope="col">Name, which people see</th><th scope="col">Keys</th><th scope="col">Without a key</th></tr></thead>
        <tbody>
          ${controls.actions.map((row, at) => html`<tr>
            <th scope="row">${at}</th>
            <td><input required maxlength="80" aria-label=${`Name of action ${at}`} value=${row.name}
              onInput=${(event) => change(at, { name: event.target.value })} /></td>
            <td><${KeysField} at=${at} keys=${row.keys} set=${(keys) => change(at, { keys })} /></td>
            <td><input type="radio" name=${`default-${environment.key}`} aria-label=${`Action ${at} without a key`}
              checked=${controls.default === at} onChange=${() => set({ ...controls, default: at })} /></td>
          </tr>`)}
        </tbody>
      </table>
      <div class="row small"><button type="button" onClick=${() => set(null)}>Use the known keys</button>
        <span class="muted">Arrows are added when they are pressed; write others: KeyJ, Digit1, ArrowUp+Space.</span></div>
    </fieldset>
  `;
}

/** Keys with commas between them. A key that means no letter, as an arrow, is added when it is pressed. */
function KeysField({ at, keys, set }) {
  const [text, setText] = useState(keys.join(", "));
  const written = keys.join(", ");
  useEffect(() => { // another version, or what the server made of it
    if (read(text).join(", ") !== written) setText(written);
  }, [written]);
  const write = (typed) => {
    setText(typed);
    set(read(typed));
  };
  const down = (event) => {
    if (!/^Arrow/.test(event.code) || event.ctrlKey || event.shiftKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (!keys.includes(event.code)) write([...keys, event.code].join(", "));
  };
  return html`<input class="mono" spellcheck="false" aria-label=${`Keys of action ${at}`} value=${text}
    onInput=${(event) => write(event.target.value)} onKeyDown=${down} />`;
}

function read(text) {
  return text.split(",").map((each) => each.trim()).filter(Boolean);
}
