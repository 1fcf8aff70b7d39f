// What an export is to be.
import { useState } from "preact/hooks";
import { count } from "../format.js";
import { html } from "../html.js";
import { colorOf } from "../replay/labels.js";

const NAME = "[A-Za-z0-9][A-Za-z0-9_\\-]{0,79}";
const FORMATS = [
  ["rlds_kit", "rlds_kit: everything, also for tfds.load"],
  ["envlogger", "EnvLogger"],
  ["minari", "Minari, HDF5"],
  ["minari-arrow", "Minari, Arrow"],
  ["minari-parquet", "Minari, Parquet"],
  ["lerobot", "LeRobot"],
];

/**
 * @param {{episodes: number, labels: string[], start: (rules: object) => Promise<void>, cancel?: () => void,
 *   canFolder: boolean}} props `episodes`: how many are exported; `canFolder`: whether to offer a folder at the server
 */
export function ExportForm({ episodes, labels, start, cancel, canFolder }) {
  const [rules, setRules] = useState({
    name: "episodes", archive: true, strip: true, tag_columns: true, end_tags: /** @type {string[]} */ ([]), format: "rlds_kit",
  });
  const [isBusy, setBusy] = useState(false);
  const set = (changes) => setRules({ ...rules, ...changes });
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    await start(rules);
    setBusy(false);
  };
  return html`<form class="export-form stack" onSubmit=${submit}>
    <div class="grid">
      <label>Name <input value=${rules.name} required pattern=${NAME}
        title="Letters, digits, _ and -" onInput=${(event) => set({ name: event.target.value })} /></label>
      <label>Format <select value=${rules.format} onChange=${(event) => set({ format: event.target.value })}>
        ${FORMATS.map(([name, title]) => html`<option key=${name} value=${name} selected=${name === rules.format}>${title}</option>`)}
      </select></label>
    </div>
    ${canFolder && html`<fieldset><legend>As</legend><div class="choices">
      <${Way} title="One archive" hint="A ZIP file to download" isChosen=${rules.archive} choose=${() => set({ archive: true })} />
      <${Way} title="A folder" hint="On the machine of the studio" isChosen=${!rules.archive} choose=${() => set({ archive: false })} />
    </div></fieldset>`}
    <${Option} title="Strip what is internal" isOn=${rules.strip} set=${(isOn) => set({ strip: isOn })}
      hint="Leaves out keys, infos, times and metadata; observations, actions, rewards and discounts stay" />
    <${Option} title="A field for each tag" isOn=${rules.tag_columns} set=${(isOn) => set({ tag_columns: isOn })}
      hint=${html`Every step says in <code>tag:label</code> whether it has the label`} />
    ${labels.length > 0 && html`<${EndTags} labels=${labels} chosen=${rules.end_tags} set=${(end_tags) => set({ end_tags })} />`}
    <div class="actions">
      ${cancel && html`<button type="button" onClick=${cancel}>Cancel</button>`}
      <button class="primary" disabled=${!episodes || isBusy}>Export ${count(episodes, "episode")}</button>
    </div>
  </form>`;
}

function EndTags({ labels, chosen, set }) {
  const toggle = (label) => set(chosen.includes(label) ? chosen.filter((each) => each !== label) : [...chosen, label]);
  return html`<fieldset><legend>End episodes at the first step that is tagged</legend>
    <div class="end-tags">${labels.map((label) => html`<button type="button" key=${label} class=${`toggle named ${colorOf(label)}`}
      aria-pressed=${chosen.includes(label)} onClick=${() => toggle(label)}>${label}</button>`)}</div></fieldset>`;
}

function Way({ title, hint, isChosen, choose }) {
  return html`<label><input type="radio" name="way" checked=${isChosen} onChange=${choose} /> <span>${title}</span>
    <span class="hint">${hint}</span></label>`;
}

function Option({ title, hint, isOn, set }) {
  return html`<label class="option"><input type="checkbox" class="switch" role="switch" checked=${isOn}
    onChange=${(event) => set(event.target.checked)} /><span>${title}<span class="hint">${hint}</span></span></label>`;
}
