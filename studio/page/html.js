// Markup in template literals.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
