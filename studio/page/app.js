// The page: a header, and the view that the link names. One page serves the studio and `rlds-kit view`.
import { render } from "preact";
import { Shell } from "./shell/shell.js";
import { html } from "./html.js";
import { apply, chosen } from "./theme.js";

apply(chosen());
const place = /** @type {HTMLElement} */ (document.getElementById("app"));
place.replaceChildren();
render(html`<${Shell} />`, place);
