// A little Markdown as elements, never as HTML: what people write cannot run.
import { html } from "../html.js";

const INLINE = /(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^[\]]+\]\(https?:\/\/[^\s)]+\)|https?:\/\/[^\s<>)]+)/;
const ITEM = /^\s*(?:[-*]|(\d+)\.)\s+(.*)$/;

/** Headings, lists, paragraphs, **bold**, *emphasis*, `code` and links. @param {{text: string}} props */
export function Markdown({ text }) {
  return html`<div class="markdown">${blocks(text).map((each) => block(each))}</div>`;
}

/** @param {string} text @returns {string[][]} lines that belong together */
function blocks(text) {
  const found = [[]];
  for (const line of text.replaceAll("\r", "").split("\n")) {
    const last = found[found.length - 1];
    const isHeading = /^#{1,4}\s/.test(line);
    const isOther = last.length > 0 && ITEM.test(line) !== ITEM.test(last[0]) && !/^\s/.test(line);
    if (line.trim() === "" || isHeading || isOther) found.push([]);
    if (line.trim() !== "") found[found.length - 1].push(line);
    if (isHeading) found.push([]);
  }
  return found.filter((each) => each.length > 0);
}

function block(lines) {
  const heading = /^#{1,4}\s+(.*)$/.exec(lines[0]);
  if (heading) return html`<h3>${inline(heading[1])}</h3>`;
  const first = ITEM.exec(lines[0]);
  if (!first) return html`<p>${lines.map((line, at) => [at > 0 && html`<br />`, inline(line)])}</p>`;
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    item ? items.push(item[2]) : (items[items.length - 1] += ` ${line.trim()}`);
  }
  const list = items.map((item) => html`<li>${inline(item)}</li>`);
  return first[1] ? html`<ol start=${first[1]}>${list}</ol>` : html`<ul>${list}</ul>`;
}

function inline(text) {
  return text.split(INLINE).map((part, at) => {
    if (at % 2 === 0) return part;
    if (part.startsWith("`")) return html`<code>${part.slice(1, -1)}</code>`;
    if (part.startsWith("**")) return html`<strong>${part.slice(2, -2)}</strong>`;
    if (part.startsWith("*")) return html`<em>${part.slice(1, -1)}</em>`;
    const [, label = part, target = part] = /^\[([^\]]+)\]\((.+)\)$/.exec(part) ?? [];
    return html`<a href=${target} rel="noreferrer noopener" target="_blank">${label}</a>`;
  });
}
