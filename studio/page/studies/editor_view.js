// Makes and changes studies. Every save is a version; older ones can be looked at and taken up again.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";
import { toast } from "../parts/toasts.js";
import { link, parse, replace } from "../router.js";
import { bodyOf, draftOf, isSame, newDraft } from "./draft.js";
import { EnableSwitch } from "./enable_switch.js";
import { EnvironmentsEditor } from "./environments_editor.js";
import { permalink } from "./permalink.js";
import { TextsEditor } from "./texts_editor.js";
import { Versions } from "./versions.js";

/** @param {{params: URLSearchParams, me: any}} props */
export function EditorView({ params, me }) {
  const id = params.get("id") ?? "";
  const [study, setStudy] = useState(/** @type {any} */ (null));
  const [draft, setDraft] = useState(newDraft);
  const [saved, setSaved] = useState(draft);
  const [version, setVersion] = useState(0); // that the form was filled with
  const [problem, setProblem] = useState({ message: "", where: "" });
  const [isBusy, setIsBusy] = useState(Boolean(id));
  const isChanged = !isSame(draft, saved);

  const take = (found) => {
    const taken = draftOf(found);
    setStudy(found);
    setDraft(taken);
    setSaved(taken);
    setVersion(found.version);
    setProblem({ message: "", where: "" });
  };
  const fill = (older, content) => {
    setVersion(older);
    setDraft(draftOf(content));
  };
  useEffect(() => {
    if (!id || id === study?.id) return undefined;
    const controller = new AbortController();
    request(`studies/${encodeURIComponent(id)}`, { signal: controller.signal })
      .then((found) => take(found.study), (error) => error.name !== "AbortError" && setProblem(error))
      .finally(() => setIsBusy(false));
    return () => controller.abort();
  }, [id]);
  useEffect(() => {
    if (!isChanged) return undefined;
    const warn = (event) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isChanged]);

  const save = async (event) => {
    event.preventDefault();
    setIsBusy(true);
    setProblem({ message: "", where: "" });
    try {
      const found = study
        ? await request(`studies/${study.id}`, { method: "PUT", body: { ...bodyOf(draft), version: study.version } })
        : await request("studies", { method: "POST", body: bodyOf(draft) });
      take(found.study);
      if (parse().name === "edit") replace(link("edit", { id: found.study.id })); // else one is elsewhere by now
      toast(`“${found.study.name}” is saved as version ${found.study.version}.`, "success");
    } catch (error) {
      setProblem(error);
    }
    setIsBusy(false);
  };
  if (me.role !== "designer") return html`<p class="problem" role="alert">Only designers can edit studies.</p>`;
  if (id && !study) return html`<p class=${problem.message ? "problem" : "loading"} role="status">${problem.message || "Loading…"}</p>`;
  return html`
    <form class="editor" onSubmit=${save} aria-label="Study">
      <div class="heading">
        <a class="crumb" href=${study ? link("study", { id: study.id }) : link("studies")}>← ${study ? study.name : "Studies"}</a>
        <h1>${study ? "Edit study" : "New study"}</h1>
        ${study && html`<div class="actions">
          <${EnableSwitch} study=${study} changed=${setStudy} />
          <${CopyButton} text=${permalink(study.id)} />
          <${Versions} study=${study} version=${version} show=${fill} />
        </div>`}
      </div>
      <${TextsEditor} draft=${draft} setDraft=${setDraft} problem=${problem} />
      <${EnvironmentsEditor} draft=${draft} setDraft=${setDraft} saved=${saved} problem=${problem} />
      <div class="save-bar">
        <span class="muted" role="status">${isBusy ? "Making the environments once, to see that they fit…" : isChanged ? "Not saved yet" : study ? "All saved" : ""}</span>
        ${problem.message && html`<span class="wrong" role="alert">${problem.message}</span>`}
        <span class="actions push">
          ${isChanged && study && html`<button type="button" class="quiet" disabled=${isBusy} onClick=${() => take(study)}>Discard changes</button>`}
          ${study && !isChanged && html`<a class="button" href=${link("study", { id: study.id })}>Try it</a>`}
          <button class="primary" disabled=${isBusy || !isChanged}>${study ? "Save" : "Make study"}</button>
        </span>
      </div>
    </form>
  `;
}
