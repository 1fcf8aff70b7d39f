// A segment that plays again and again, or stands still at a step.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { request } from "../../api.js";
import { html } from "../../html.js";
import { firstShown, picturesIn } from "../../replay/pictures.js";
import { Steps } from "../../replay/steps.js";

const REST_MS = 700; // at the end, before it begins again
const FASTEST = 30;

/** @param {{segment: {episode: string, first: number, stop: number}, number: number, of: number, isMarked: boolean, place: any, setPlace: (place: any) => void}} props */
export function Segment({ segment, number, of, isMarked, place, setPlace }) {
  const { episode, first, stop } = segment;
  const [facts, setFacts] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const [step, setStep] = useState(first);
  const [isPlaying, setPlaying] = useState(!isMarked);
  useEffect(() => {
    request(`replay/${episode}`).then(setFacts, (error) => setProblem(error.message));
  }, [episode]);
  const rate = Math.min(facts?.rate ?? 10, FASTEST);
  useEffect(() => {
    if (!isPlaying || !facts) return undefined;
    const next = () => setStep((now) => (now + 1 < stop ? now + 1 : first));
    const timer = setTimeout(next, step + 1 < stop ? 1000 / rate : REST_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, facts, step, first, stop, rate]);
  const name = of === 1 ? "Segment" : `Segment ${number + 1}`;
  return html`<figure class="card segment" aria-label=${name}>
    ${of > 1 && html`<figcaption><strong class="numbers">${number + 1}</strong></figcaption>`}
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${facts && html`<${Screen} facts=${facts} step=${step} first=${first} stop=${stop} isMarked=${isMarked} place=${place} setPlace=${setPlace} />`}
    <div class="row">
      <button class="quiet" onClick=${() => setPlaying(!isPlaying)} aria-label=${`${isPlaying ? "Stop" : "Play"} ${name}`}>${isPlaying ? "Stop" : "Play"}</button>
      <input type="range" min=${first} max=${stop - 1} value=${step} aria-label=${`Step of ${name}`} data-step=${step}
        onInput=${(event) => {
          setPlaying(false);
          setStep(Number(event.target.value));
        }} />
      <span class="muted small numbers">step ${step - first + 1} of ${stop - first}</span>
    </div>
  </figure>`;
}

function Screen({ facts, step, first, stop, isMarked, place, setPlace }) {
  const steps = useMemo(() => new Steps(facts.id, facts.can_be_drawn), [facts.id]);
  useEffect(() => () => steps.close(), [steps]);
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [text, setText] = useState("");
  const shown = useRef(/** @type {any} */ (null));
  useEffect(() => {
    let isWanted = true;
    show(steps, step).then(
      (found) => {
        if (!isWanted) return;
        shown.current = found.picture;
        setText(found.bitmap ? "" : found.text);
        if (found.bitmap && canvas.current) paint(canvas.current, found.bitmap);
      },
      (error) => isWanted && setText(error.message),
    );
    steps.ahead(Array.from({ length: 8 }, (_, each) => step + 1 + each).filter((each) => each < stop), shown.current ? [shown.current] : []);
    return () => {
      isWanted = false;
    };
  }, [steps, step, stop]);
  const marks = useMarks(canvas, isMarked, (box) => setPlace({ ...box, step: step - first, field: fieldOf(shown.current) }));
  return html`<div class="screen-place">
    <canvas ref=${canvas} width="4" height="3" hidden=${Boolean(text)} role="img" aria-label=${`Picture of step ${step}`} ...${marks}></canvas>
    ${isMarked && place && place.step === step - first && html`<${Box} place=${place} canvas=${canvas} />`}
    ${text && html`<pre class="screen" aria-label=${`Values of step ${step}`}>${text}</pre>`}
  </div>`;
}

function Box({ place, canvas }) {
  const { width, height } = canvas.current ?? { width: 1, height: 1 };
  const percent = (part, whole) => `${(100 * part) / whole}%`;
  return html`<span class="mark" style=${{
    top: percent(place.top, height), left: percent(place.left, width), height: percent(place.height, height), width: percent(place.width, width),
  }}></span>`;
}

/** A rectangle is drawn from where the pointer goes down to where it goes up, in pixels of the recorded picture. */
function useMarks(canvas, isMarked, mark) {
  const from = useRef(/** @type {any} */ (null));
  if (!isMarked) return {};
  const at = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const part = (value, size, pixels) => Math.min(Math.max(Math.floor((value / size) * pixels), 0), pixels - 1);
    return [part(event.clientY - box.top, box.height, canvas.current.height), part(event.clientX - box.left, box.width, canvas.current.width)];
  };
  return {
    onPointerDown: (event) => {
      from.current = at(event);
      canvas.current.setPointerCapture(event.pointerId);
    },
    onPointerUp: (event) => {
      if (!from.current) return;
      const [[y0, x0], [y1, x1]] = [from.current, at(event)];
      from.current = null;
      mark({ top: Math.min(y0, y1), left: Math.min(x0, x1), height: Math.abs(y1 - y0) + 1, width: Math.abs(x1 - x0) + 1 });
    },
  };
}

async function show(steps, step) {
  const values = await steps.load(step);
  const [picture] = firstShown(picturesIn(values));
  if (!picture) return { picture: null, bitmap: null, text: written(values) };
  return { picture, bitmap: await steps.pictures.load(step, picture), text: "" };
}

/** Where nothing can be seen: the fields of the step. */
function written(values) {
  const named = values.fields.filter(({ name }) => ["observation", "action"].includes(name));
  return named.map(({ name, value }) => `${name}: ${value.text ?? JSON.stringify(value.value ?? value.items ?? value.kind)}`).join("\n");
}

function fieldOf(picture) {
  return picture ? picture.field : "observation";
}

function paint(canvas, bitmap) {
  if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
  }
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  canvas.dataset.painted = "1";
}
