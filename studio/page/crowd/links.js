// What participants open, by group and way of recruitment.
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";

const APPENDED = {
  prolific: "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
  mturk: "",
  email: "?f=email",
  social: "?f=social",
  laboratory: "?f=laboratory&participant=NUMBER",
  test: "?f=test&participant=NAME",
};

export function Links({ crowd }) {
  return html`<ul class="crowd-links">${crowd.groups.flatMap((group) =>
    crowd.recruitment.map((kind) => {
      const link = `${location.origin}/crowd/${encodeURIComponent(group)}${APPENDED[kind]}`;
      return html`<li><span class="chip">${group}</span><span class="chip accent">${kind}</span><code class="small">${link}</code><${CopyButton} text=${link} /></li>`;
    }),
  )}</ul>`;
}
