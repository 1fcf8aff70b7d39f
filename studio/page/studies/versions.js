// Older versions of a study: choosing one puts it into the form, to look at or to save anew.
import { request } from "../api.js";
import { html } from "../html.js";
import { toast, toastError } from "../parts/toasts.js";

/** @param {{study: any, version: number, show: (version: number, content: any) => void}} props `version`: in the form */
export function Versions({ study, version, show }) {
  const choose = async (event) => {
    const wanted = Number(event.target.value);
    try {
      const found = await request(`studies/${study.id}?version=${wanted}`);
      show(wanted, found.content);
      if (wanted < study.version) toast(`This is version ${wanted}. Save it to make it the newest again.`);
    } catch (error) {
      event.target.value = String(version);
      toastError(error);
    }
  };
  const all = Array.from({ length: study.version }, (_, at) => study.version - at);
  return html`<label class="inline">Version
    <select value=${version} onChange=${choose}>
      ${all.map((each) => html`<option value=${each} selected=${each === version}>${each}${each === study.version ? " (newest)" : ""}</option>`)}
    </select>
  </label>`;
}
