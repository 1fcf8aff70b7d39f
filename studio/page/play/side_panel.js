// What there is to read beside the picture: instructions, keys, and what was played so far.
import { count, short } from "../format.js";
import { html } from "../html.js";
import { Markdown } from "../parts/markdown.js";
import { link } from "../router.js";
import { Company } from "./company.js";
import { Judge } from "./judge.js";
import { Legend } from "./legend.js";
import { TextsBox } from "./texts_box.js";

const KINDS = { completed: "success", cancelled: "warning", rejected: "danger", abandoned: "" };

/**
 * @param {{player: import("./player.js").Player, study: any, environment: string,
 *   commands: import("./commands.js").Command[], first?: any}} props `first`: markup that stands above the rest
 */
export function SidePanel({ player, study, environment, commands, first = null }) {
  const { welcome, saved } = player.known;
  const own = study?.environments.find((each) => each.id === environment)?.instructions ?? "";
  const seat = study?.environments.find((each) => each.id === environment)?.seats?.find((each) => each.name === welcome?.seat);
  const texts = study ? [study.instructions, own, seat?.instructions ?? ""] : [welcome?.instructions ?? ""];
  const given = texts.filter(Boolean);
  return html`
    <aside class="side stack">
      ${first}
      ${welcome && html`<${Company} player=${player} /><${TextsBox} player=${player} />`}
      ${given.length > 0 && html`<section class="card"><h2>Instructions</h2>${given.map((text) => html`<${Markdown} text=${text} />`)}</section>`}
      ${welcome && !player.isSeated && html`<${Judge} player=${player} />`}
      ${welcome && html`<${Legend} player=${player} commands=${commands} />`}
      ${saved.length > 0 && html`<section class="card"><h2>This session</h2>
        <ol class="played">${saved.map((each) => html`<${Played} key=${each.episode} episode=${each} isLinked=${Boolean(study)} />`)}</ol></section>`}
    </aside>
  `;
}

function Played({ episode: { episode, id, status, steps, totals, is_kept: isKept }, isLinked }) {
  const total = Object.values(totals)[0] ?? 0;
  return html`<li class="row">
    ${isLinked && isKept && id ? html`<a href=${link("replay", { episode: id })}>Episode ${episode + 1}</a>` : html`<span>Episode ${episode + 1}</span>`}
    <span class=${`chip ${KINDS[status] ?? ""}`}>${status}</span>
    <span class="push small muted numbers">${count(steps, "step")}, return ${short(total)}</span>
  </li>`;
}
