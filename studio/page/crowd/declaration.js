// The declaration of the crowd as text: it is checked before it is saved, and all versions stay.
import { useState } from "preact/hooks";
import { request } from "../api.js";
import { count, date } from "../format.js";
import { html } from "../html.js";
import { toast, toastError } from "../parts/toasts.js";

/** @param {{load: () => Promise<void>}} props */
export function Declaration({ load }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [text, setText] = useState("");
  const [problems, setProblems] = useState(/** @type {string[] | null} */ (null));
  const [isBusy, setIsBusy] = useState(false);
  const show = (answer) => {
    setFound(answer);
    setText(answer.text);
    setProblems(null);
  };
  const busy = async (work) => {
    setIsBusy(true);
    await work().catch(toastError);
    setIsBusy(false);
  };
  const check = async () => {
    const answer = await request("crowd/declaration/check", { method: "POST", body: { text } });
    setProblems(answer.problems);
    return answer.problems.length === 0;
  };
  const save = async () => {
    if (!(await check())) return;
    show(await request("crowd/declaration", { method: "PUT", body: { text, version: found.version } }));
    toast("Saved: new arrivals follow it.", "success");
    await load();
  };
  const open = async (number) => setText((await request(`crowd/declaration/${number}`)).text);
  if (!found) {
    return html`<section class="card" aria-label="Declaration"><h2>Tasks, groups and questions</h2>
      <div class="actions"><button onClick=${() => busy(async () => show(await request("crowd/declaration")))}>Edit</button></div></section>`;
  }
  return html`<section class="card stack" aria-label="Declaration"><h2>Tasks, groups and questions</h2>
    <p class="muted">Version ${found.version} runs. What you save is the next one, which people follow at once; people who play are paid by what was declared when their game began.</p>
    ${found.notice && html`<p class="note">${found.notice}</p>`}
    <textarea class="mono declaration" aria-label="Declaration in TOML" rows="24" spellcheck="false" maxlength="200000" value=${text}
      onInput=${(event) => { setText(event.target.value); setProblems(null); }}></textarea>
    ${problems !== null && (problems.length === 0
      ? html`<p role="status">There is nothing to correct.</p>`
      : html`<div class="problem" role="alert"><p>${count(problems.length, "problem")}; nothing was saved.</p><ul>${problems.map((each) => html`<li>${each}</li>`)}</ul></div>`)}
    <div class="actions">
      <button disabled=${isBusy} onClick=${() => busy(check)}>Check</button>
      <button class="primary" disabled=${isBusy || text === found.text} onClick=${() => busy(save)}>Save as version ${found.versions.length + 1}</button>
      <button class="push" disabled=${isBusy} onClick=${() => setFound(null)}>Close</button>
    </div>
    <ul class="crowd-versions small">${[...found.versions].reverse().map(
      (each) => html`<li key=${each.number}><button class="text" disabled=${isBusy} onClick=${() => busy(() => open(each.number))}>Version ${each.number}</button>
        ${each.by === null ? " from the file" : ` by ${each.by}`}, ${date(new Date(each.saved_ns / 1e6).toISOString())}</li>`,
    )}</ul>
  </section>`;
}
