// The environments of a study. All of one study fit into one dataset: their spaces are the same.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { toast, toastError } from "../parts/toasts.js";
import { newEnvironment } from "./draft.js";
import { bodyOf } from "./draft.js";
import { EnvironmentEditor } from "./environment_editor.js";

/**
 * @param {{draft: any, setDraft: (change: any) => void, saved: any, problem: {message: string, where: string}}} props
 */
export function EnvironmentsEditor({ draft, setDraft, saved, problem }) {
  const [ids, setIds] = useState(/** @type {string[] | null} */ (null));
  const [several, setSeveral] = useState({ ids: /** @type {string[]} */ ([]), actors: /** @type {string[]} */ ([]) });
  const [found, setFound] = useState(/** @type {any[]} */ ([]));
  const [isChecking, setIsChecking] = useState(false);
  useEffect(() => {
    request("environments").then((answer) => {
      setIds([...answer.environments, ...answer.several]);
      setSeveral({ ids: answer.several, actors: answer.actors });
    }, toastError);
  }, []);
  useEffect(() => setFound([]), [draft.environments]);

  const { environments } = draft;
  // A form may still be loading while another changes: each changes what is there then.
  const setAll = (change) => setDraft((now) => ({ ...now, environments: change(now.environments) }));
  const set = (key, changes) => setAll((all) => all.map((each) => (each.key === key ? { ...each, ...changes } : each)));
  const remove = (key) => setAll((all) => all.filter((each) => each.key !== key));
  const move = (at, by) => setAll((all) => {
    const after = [...all];
    [after[at], after[at + by]] = [after[at + by], after[at]];
    return after;
  });
  const check = async () => {
    setIsChecking(true);
    try {
      const answer = await request("environments/check", { method: "POST", body: { environments: bodyOf(draft).environments } });
      setFound(answer.problems);
      if (answer.compatible) toast("All environments can be made, and fit into one study.", "success");
    } catch (error) {
      toastError(error);
    }
    setIsChecking(false);
  };
  const problemsOf = (at) => [
    ...found.filter((each) => each.environment === at).map((each) => each.message),
    ...(problem.where?.startsWith(`environments.${at}`) ? [problem.message] : []),
  ];
  return html`
    <section class="stack" aria-label="Environments">
      <div class="row"><h2>Environments</h2>
        <button type="button" class="push" disabled=${isChecking || !environments.every((each) => each.environment)} onClick=${check}>
          ${isChecking ? "Checking…" : "Check that they fit"}</button></div>
      ${environments.map(
        (each, at) => html`<${EnvironmentEditor} key=${each.key} environment=${each} at=${at} count=${environments.length} ids=${ids} several=${several}
          before=${saved.environments.find((old) => old.id && old.id === each.id)} problems=${problemsOf(at)}
          set=${(changes) => set(each.key, changes)} remove=${() => remove(each.key)} move=${(by) => move(at, by)} />`,
      )}
      <div><button type="button" onClick=${() => setAll((all) => [...all, newEnvironment()])}>Add an environment</button></div>
    </section>
  `;
}
