// For those who come by the permalink of a study: a name if they like, and in.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { parse } from "../router.js";

/** @param {{submit: (body: object) => void, study: string, isBusy: boolean}} props */
export function StudyEntry({ submit, study, isBusy }) {
  const [name, setName] = useState("");
  const [found, setFound] = useState(/** @type {{name: string, description: string} | null} */ (null));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    request(`open-studies/${study}`, { signal: controller.signal }).then(
      (answer) => setFound(answer.study),
      (error) => error.name !== "AbortError" && setProblem(error.message),
    );
    return () => controller.abort();
  }, [study]);
  const send = (event) => {
    event.preventDefault();
    const participant = parse().params.get("participant");
    submit({ study, ...(name.trim() && { name: name.trim() }), ...(participant && { participant }) });
  };
  if (problem) return html`<p class="problem" role="alert">${problem}</p>`;
  if (!found) return html`<p role="status">Looking for the study…</p>`;
  return html`
    <form class="stack" onSubmit=${send}>
      <p>You were sent the link of the study <strong>${found.name}</strong>.</p>
      ${found.description && html`<p class="muted">${found.description}</p>`}
      <label><span>Your name <span class="muted">(optional)</span></span>
        <input name="name" autocomplete="name" maxlength="200" autofocus value=${name}
          onInput=${(event) => setName(event.target.value)} />
      </label>
      <p class="hint">What you play is recorded under an anonymous id. Your name is kept apart from it.</p>
      <button class="primary large" disabled=${isBusy}>Go to the study</button>
    </form>
  `;
}

/** The study that the address leads to, if it does: `#study?id=` or `#env?study=`. */
export function studyOfLink() {
  const { name, params } = parse();
  const id = { study: params.get("id"), env: params.get("study") }[name] ?? "";
  return /^[0-9a-f]{32}$/.test(id) ? id : "";
}
