// Makes a link for people to come in with.
import { useState } from "preact/hooks";
import { request } from "../api.js";
import { date } from "../format.js";
import { html } from "../html.js";
import { CopyButton } from "../parts/copy_button.js";
import { toastError } from "../parts/toasts.js";
import { link } from "../router.js";
import { TokensList } from "./tokens_list.js";

const ROLES = [
  { name: "participant", says: "Plays in studies that are enabled, and sees what they recorded themselves." },
  { name: "reviewer", says: "Sees, tags and exports the episodes of all studies." },
  { name: "designer", says: "Makes studies, and sees all that is recorded in them." },
];

export function InviteView() {
  const [role, setRole] = useState("participant");
  const [uses, setUses] = useState("1");
  const [days, setDays] = useState("14");
  const [made, setMade] = useState(null);
  const make = async (event) => {
    event.preventDefault();
    const body = { role, uses: uses === "" ? null : Number(uses), days: Number(days) };
    try {
      setMade(await request("invitations", { method: "POST", body }));
    } catch (error) {
      toastError(error);
    }
  };
  const url = made && `${location.origin}/${link("login", { invitation: made.invitation })}`;
  return html`
    <div class="heading"><h1>Invite people</h1></div>
    <form class="card stack" onSubmit=${make}>
      <fieldset>
        <legend>They come as</legend>
        <div class="choices">
          ${ROLES.map(
            ({ name, says }) => html`<label>
              <input type="radio" name="role" checked=${role === name} onChange=${() => setRole(name)} />
              <span>${name}</span><span class="hint">${says}</span>
            </label>`,
          )}
        </div>
      </fieldset>
      <div class="grid">
        <label>How many people
          <input type="number" min="1" max="100000" placeholder="any number" value=${uses}
            onInput=${(event) => setUses(event.target.value)} />
        </label>
        <label>Valid for days
          <input type="number" min="1" max="365" required value=${days} onInput=${(event) => setDays(event.target.value)} />
        </label>
      </div>
      <div class="actions"><button class="primary">Make a link</button></div>
      ${made &&
      html`<div class="note stack" role="status">
        <span>Send this link to those whom you invite. It is valid until ${date(new Date(made.expires_ns / 1e6).toISOString())}.</span>
        <div class="row"><input readonly aria-label="Invitation link" value=${url} onFocus=${(event) => event.target.select()} />
          <${CopyButton} text=${url} /></div>
      </div>`}
    </form>
    <${TokensList} made=${made} />
  `;
}
