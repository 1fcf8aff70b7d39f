// Whether others may play in a study.
import { useState } from "preact/hooks";
import { request } from "../api.js";
import { html } from "../html.js";
import { toast, toastError } from "../parts/toasts.js";

/** @param {{study: any, changed: (study: any) => void}} props */
export function EnableSwitch({ study, changed }) {
  const [wanted, setWanted] = useState(/** @type {boolean | null} */ (null)); // until the server has done it
  const isOn = wanted ?? study.enabled;
  const change = async (event) => {
    const enabled = event.target.checked;
    setWanted(enabled);
    try {
      const found = await request(`studies/${study.id}/state`, { method: "PUT", body: { enabled } });
      changed(found.study);
      toast(enabled ? `Everybody with the link can play “${study.name}” now.` : `“${study.name}” is closed to others.`, "success");
    } catch (error) {
      toastError(error);
    }
    setWanted(null);
  };
  return html`<label class="inline">
    <input type="checkbox" role="switch" class="switch" checked=${isOn} disabled=${!study.can_edit}
      aria-label=${`Open “${study.name}” to others`} onChange=${change} />
    <span>${isOn ? "Open" : "Closed"}</span>
  </label>`;
}
