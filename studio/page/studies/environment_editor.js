// One environment of a study: which, how it is made, and how it is played.
import { html } from "../html.js";
import { EnvironmentSearch } from "./environment_search.js";
import { KeysEditor } from "./keys_editor.js";
import { KwargsForm } from "./kwargs_form.js";
import { PaceEditor } from "./pace_editor.js";
import { SeatsEditor } from "./seats_editor.js";
import { Instructions } from "./texts_editor.js";

/**
 * @param {{environment: any, at: number, count: number, ids: string[] | null, several: {ids: string[], actors: string[]}, before: any, problems: string[],
 *   set: (changes: any) => void, remove: () => void, move: (by: number) => void}} props `before`: as it is saved
 */
export function EnvironmentEditor({ environment, at, count, ids, several, before, problems, set, remove, move }) {
  const title = environment.name || environment.environment || `Environment ${at + 1}`;
  const isOther = before && (before.environment !== environment.environment || !isEqual(before.kwargs, environment.kwargs));
  const chosen = (id) => ({ environment: id, kwargs: {}, controls: null, seats: [], interface: several.ids.includes(id) ? "pettingzoo" : null });
  const choose = (id) => id !== environment.environment && set(chosen(id));
  return html`
    <fieldset class="card stack environment-editor" aria-label=${title}>
      <div class="row">
        <h3 class="cut">${title}</h3>
        <span class="actions push">
          ${count > 1 && html`
            <button type="button" class="quiet icon-only" disabled=${at === 0} aria-label=${`Move ${title} up`} onClick=${() => move(-1)}>↑</button>
            <button type="button" class="quiet icon-only" disabled=${at === count - 1} aria-label=${`Move ${title} down`} onClick=${() => move(1)}>↓</button>
            <button type="button" class="quiet" aria-label=${`Remove ${title}`} onClick=${remove}>Remove</button>`}
        </span>
      </div>
      ${problems.map((each) => html`<p class="problem" role="alert">${each}</p>`)}
      <div class="grid halves">
        <${EnvironmentSearch} ids=${ids} value=${environment.environment} choose=${choose} />
        <label><span>Name <span class="muted">(that people see)</span></span>
          <input maxlength="200" placeholder=${environment.environment} value=${environment.name}
            onInput=${(event) => set({ name: event.target.value })} /></label>
      </div>
      ${isOther && html`<p class="note warning">This makes another environment of it. Episodes that were recorded stay with the
        one before.</p>`}
      ${environment.environment && html`<${KwargsForm} key=${environment.environment} id=${environment.environment}
        kwargs=${environment.kwargs} set=${(kwargs) => set({ kwargs })} />`}
      ${environment.interface === "pettingzoo" && html`<${SeatsEditor} environment=${environment} actors=${several.actors} set=${set} />`}
      ${environment.environment && html`<${KeysEditor} environment=${environment} set=${(controls) => set({ controls })} />`}
      <${PaceEditor} environment=${environment} set=${set} />
      <${Instructions} label="Instructions for this environment" value=${environment.instructions}
        set=${(event) => set({ instructions: event.target.value })} />
    </fieldset>
  `;
}

function isEqual(one, other) {
  const sorted = (values) => JSON.stringify(Object.entries(values).sort(([left], [right]) => (left < right ? -1 : 1)));
  return sorted(one) === sorted(other);
}
