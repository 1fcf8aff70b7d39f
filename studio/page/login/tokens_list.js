// One's own links, logins and invitations that are valid, each with a button that ends it.
import { useEffect, useState } from "preact/hooks";
import { request } from "../api.js";
import { date } from "../format.js";
import { html } from "../html.js";
import { toastError } from "../parts/toasts.js";

const KINDS = { access: "login", link: "login link", invitation: "invitation" };

/** @param {{made: unknown}} props `made`: changes when there is another one */
export function TokensList({ made }) {
  const [tokens, setTokens] = useState(/** @type {any[]} */ ([]));
  const load = () => request("tokens").then((found) => setTokens(found.tokens), toastError);
  useEffect(() => void load(), [made]);
  const revoke = async (id) => {
    try {
      await request(`tokens/${id}`, { method: "DELETE" });
    } catch (error) {
      toastError(error);
    }
    await load();
  };
  const day = (ns) => date(new Date(ns / 1e6).toISOString());
  return html`
    <section class="card stack" aria-label="Links and logins">
      <h2>Your links and logins</h2>
      <div class="table-frame cards"><table>
        <thead><tr><th scope="col">What</th><th scope="col">Made</th><th scope="col">Valid until</th><th scope="col" aria-label="Revoke"></th></tr></thead>
        <tbody>
          ${tokens.map((each) => html`<tr key=${each.id}>
            <td>${KINDS[each.kind]}${each.role && ` of a ${each.role}${each.uses === null ? "" : `, ${each.uses} left`}`}${each.is_this && " (this browser)"}</td>
            <td data-label="Made">${day(each.created_ns)}</td><td data-label="Valid until">${day(each.expires_ns)}</td>
            <td>${!each.is_this && html`<button type="button" class="quiet" onClick=${() => revoke(each.id)}>Revoke</button>`}</td>
          </tr>`)}
        </tbody>
      </table></div>
    </section>
  `;
}
