// A reward that a person gives afterwards; what was recorded stays.
import { html } from "../html.js";
import { useEntry } from "../parts/entry.js";
import { written } from "./labels.js";

/** @param {{over: [number, number], length: number, give: (value: number) => Promise<boolean>}} props */
export function RewardEntry({ over, length, give }) {
  const [text, setText, submit] = useEntry((given) => give(Number(given))); // the browser lets nothing but numbers through
  const isPossible = over[1] < length; // on the last step nothing was done
  return html`<form class="reward-entry" onSubmit=${submit} aria-label=${`Reward of ${written(over)}`}>
    <span class="reward-says">Your reward</span>
    <button type="button" class="icon-only" disabled=${!isPossible} onClick=${() => give(1)} title="+1 (+)" aria-label="Reward +1">+1</button>
    <button type="button" class="icon-only" disabled=${!isPossible} onClick=${() => give(-1)} title="−1 (-)" aria-label="Reward −1">−1</button>
    <input type="number" step="any" value=${text} disabled=${!isPossible} aria-label="Reward" placeholder="other"
      onInput=${(event) => setText(event.target.value)} />
    <button disabled=${!isPossible || !text.trim()}>Give</button>
    ${!isPossible && html`<span class="muted small">nothing was done on the last step</span>`}
  </form>`;
}
