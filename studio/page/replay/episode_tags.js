// Tags of the whole episode.
import { html } from "../html.js";
import { LabelChip } from "./label_chip.js";
import { TagEntry } from "./tag_entry.js";

/** @param {{annotations: import("./live_annotations.js").Annotation[], tagging: import("./tagging.js").Tagging}} props */
export function EpisodeTags({ annotations, tagging }) {
  const found = annotations.filter((each) => each.kind === "tag" && !each.steps);
  const returns = annotations.filter((each) => each.kind === "return");
  return html`
    <section class="card episode-tags" aria-label="Tags of the episode">
      <h2>Episode</h2>
      <div class="chips">
        ${found.map((each) => html`<${LabelChip} key=${each.id} annotation=${each} remove=${tagging.mayRemove(each) && tagging.remove} />`)}
        ${returns.map((each) => html`<span key=${each.id} class="chip" title=${each.source}>return ${each.value}</span>`)}
        ${found.length + returns.length === 0 && html`<span class="muted small">no tag yet</span>`}
      </div>
      ${tagging.isAllowed && html`<${TagEntry} id="episode-tag" says="Tag the episode (e)" labels=${tagging.quick} add=${tagging.tagEpisode} />`}
      ${tagging.problem && html`<p class="problem small" role="alert">${tagging.problem}</p>`}
    </section>
  `;
}
