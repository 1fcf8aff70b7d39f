// An episode that is there: what one sees, moves with, and says of it.
import { useEffect, useMemo, useState } from "preact/hooks";
import { html } from "../html.js";
import { EpisodeHeading } from "./episode_heading.js";
import { EpisodeTags } from "./episode_tags.js";
import { useAnnotations } from "./live_annotations.js";
import { Notes } from "./notes.js";
import { useAhead, usePlayback } from "./playback.js";
import { useReplayKeys } from "./replay_keys.js";
import { RewardProfile } from "./reward_profile.js";
import { StepAnnotations } from "./step_annotations.js";
import { ShortcutsHelp } from "./shortcuts_help.js";
import { useSpan } from "./span.js";
import { hasStage, Stage } from "./stage.js";
import { useStep } from "./step_values.js";
import { StepCard } from "./step_card.js";
import { StepTags } from "./step_tags.js";
import { Steps } from "./steps.js";
import { useStepLink } from "./step_link.js";
import { useStudioRow } from "./studio_row.js";
import { useTagging } from "./tagging.js";
import { Transport } from "./transport.js";

/** @param {{facts: any, params: URLSearchParams, about: any, grow: (length: number, end: string) => void}} props */
export function EpisodeReplay({ facts, params, about, grow }) {
  const steps = useMemo(() => new Steps(facts.id, facts.can_be_drawn), [facts.id]);
  useEffect(() => () => steps.close(), [steps]);
  useEffect(() => () => steps.forget(facts.length - 1), [facts.length]);
  const playback = usePlayback(steps, facts.length, facts.rate, Number(params.get("step")));
  useStepLink(facts.id, params, playback);
  const { values, problem, shown, show } = useStep(steps, playback.step, facts.length);
  useAhead(steps, playback, facts.length, values && shown);
  const span = useSpan(playback.step);
  const live = useAnnotations(facts.id, facts, grow);
  const tagging = useTagging(facts, live, playback.step, span);
  const [isHelping, setHelping] = useState(false);
  const row = useStudioRow(facts.id, about);
  useReplayKeys({ facts, playback, values, shown, show, span, live, tagging, help: () => setHelping(true) });
  const place = { annotations: live.annotations, step: playback.step, go: playback.go, span: span.chosen, choose: span.choose };
  return html`
    <${EpisodeHeading} facts=${facts} about=${about} row=${row} step=${playback.step} isLive=${live.isLive} help=${() => setHelping(true)} />
    ${[...live.problems, problem].filter(Boolean).map((each) => html`<p class="problem" role="alert">${each}</p>`)}
    ${facts.length === 0 ? html`<p class="empty">This episode has no steps${facts.end === "open" ? " yet" : ""}.</p>` : html`
    <div class="replay">
      <div class="replay-main">
        <div class=${`replay-top${values && !hasStage(values) ? " no-stage" : ""}`}>
          ${values && hasStage(values) && html`<${Stage} steps=${steps} step=${playback.step} values=${values} shown=${shown} show=${show} />`}
          ${values ? html`<${StepCard} values=${values} facts=${facts} />` : html`<p class="loading">Loading the step…</p>`}
        </div>
        <${Transport} playback=${playback} length=${facts.length} recorded=${facts.rate} />
        ${facts.profile && html`<${RewardProfile} profile=${facts.profile} length=${facts.length} ...${place} />`}
      </div>
      <div class="replay-side">
        <${EpisodeTags} annotations=${live.annotations} tagging=${tagging} />
        ${facts.can_annotate && html`<${StepTags} annotations=${live.annotations} length=${facts.length} span=${span} tagging=${tagging} />`}
        <${StepAnnotations} ...${place} tagging=${tagging} />
        <${Notes} annotations=${live.annotations} go=${playback.go} tagging=${tagging} />
      </div>
    </div>`}
    <${ShortcutsHelp} isOpen=${isHelping} close=${() => setHelping(false)} />
  `;
}
