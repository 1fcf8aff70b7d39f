// One session as it is played or watched: connection, pictures, and what is held. No markup.
import { Ahead } from "./ahead.js";
import { Connection } from "./connection.js";
import { AHEAD, FIRST, parse } from "./frame.js";
import { follow, linked, NOTHING_KNOWN } from "./follow.js";
import { listen as listenToPads } from "./gamepad.js";
import { Held } from "./held.js";
import { Measure } from "./measure.js";
import { Painter } from "./painter.js";

const PLAYED = new Set(["running", "countdown"]);
const JUDGED_IN = new Set(["running", "paused", "confirming"]);

/**
 * Events: "known" (an episode stands elsewhere), "paint" (another picture), "held" (keys), "message" (with `detail`, a message).
 */
export class Player extends EventTarget {
  /** @param {{session: string, token: string, isReady?: boolean}} admission `isReady`: the first episode begins without a click */
  constructor({ session, token, isReady = false }) {
    super();
    this._isReady = isReady;
    this.started = -1; // the number of the episode that the person wants to begin
    this._isNew = false; // the connection: no state came by it yet
    this.known = NOTHING_KNOWN;
    this.measure = new Measure();
    this.shown = { step: 0, total: 0, reward: 0, sequence: /** @type {number | null} */ (null) };
    this.pad = /** @type {string | null} */ (null);
    this._show = (_picture) => {};
    this.held = new Held((held, time) => this._heldChanged(held, time));
    this._painter = new Painter((_frame, picture) => this._show(picture), (frame) => this._painted(frame));
    this._ahead = new Ahead({
      show: (picture) => this._show(picture),
      shown: (step) => this.measure.answer(step),
      send: (fields) => this._connection.send("ahead", fields),
      takeBack: () => this._painter.again(),
    });
    this._connection = new Connection(session, token, {
      message: (message) => this._take(message),
      frame: (data) => this._takeFrame(parse(data)),
      link: (state, reason) => this._linked(state, reason),
    });
    this._stopPads = listenToPads({
      changed: (held) => this.held.set("gamepad", held),
      isActive: () => this.isPlaying,
      plugged: (name) => this._plugged(name),
    });
    this._left = () => document.hasFocus() || this.pauseAlone();
    this._hidden = () => document.hidden && this.pauseAlone();
    addEventListener("blur", this._left);
    document.addEventListener("visibilitychange", this._hidden);
  }

  /** @param {(picture: ImageBitmap | string | null) => void} show puts a picture on the screen */
  showOn(show) {
    this._show = show;
  }

  close() {
    removeEventListener("blur", this._left);
    document.removeEventListener("visibilitychange", this._hidden);
    this._stopPads();
    this._painter.stop();
    this._ahead.forget();
    this._connection.close();
  }

  get phase() {
    return this.known.state?.phase ?? "";
  }

  /** Whether what is pressed goes to the environment. */
  get isPlaying() {
    return this.known.link === "open" && this.isSeated && PLAYED.has(this.phase);
  }

  get isSeated() {
    return Boolean(this.known.welcome?.seat);
  }

  /** Who acts from one's seat now. */
  get driver() {
    return this.known.drivers[this.known.welcome?.seat] ?? "human";
  }

  /** Sends the server a message. @param {string} type @param {object} fields */
  send(type, fields = {}) {
    this._connection.send(type, fields);
  }

  /** Whether a reward can be given now. */
  get canJudge() {
    return this.known.link === "open" && JUDGED_IN.has(this.phase);
  }

  /**
   * Gives the step that one sees a reward; false where there is none to judge.
   * @param {number} value @param {"keyboard" | "pointer"} device @param {string | null} key that was pressed
   */
  judge(value, device, key = null) {
    if (!this.canJudge) return false;
    const { step, sequence: shown } = this.shown;
    const time = Math.round(performance.now() * 1e6);
    this.send("reward", { value, step, episode: this.known.state.episode, shown, time, key, device });
    return true;
  }

  /** Pauses, or goes on. */
  togglePause() {
    if (this.phase === "running") this.send("pause");
    else if (this.phase === "paused") this.send("resume");
  }

  /** Whether others play, too: then nothing waits for one who looks elsewhere. */
  get isTogether() {
    return (this.known.company ?? []).filter(({ state }) => !["program", "nobody"].includes(state)).length > 1;
  }

  /** The person wants the episode to begin. */
  start() {
    this.started = this.known.state.episode;
    this.send("start");
    this.dispatchEvent(new Event("known"));
  }

  /** Sends the others a message; false where there is no connection. @param {string} content */
  say(content) {
    if (this.known.link !== "open") return false;
    this.send("say", { content });
    this.known = follow(this.known, { type: "said", sender: this.known.welcome.seat, content });
    this.dispatchEvent(new Event("known"));
    return true;
  }

  /** Pauses because the page is hidden. Where every step is a key, time stands still anyway. */
  pauseAlone() {
    this.held.clear();
    if (this.isTogether) return;
    if (this.isPlaying && this.phase === "running" && this.known.welcome.turn === "clock") this.send("pause");
  }

  _heldChanged(held, time) {
    if (this.isPlaying && Object.keys(held).length > 0) this.measure.press();
    if (this.isSeated) this.send("keys", { held, shown: this.shown.sequence, ahead: this._ahead.onScreen, time });
    const isStep = this.isPlaying && this.phase === "running" && this.driver === "human" && this.known.welcome.turn === "press";
    this._ahead.press(held, this.known.welcome?.controls, isStep ? this.shown.step + 1 : null);
    this.dispatchEvent(new Event("held"));
  }

  _takeFrame(frame) {
    if (frame.flags & AHEAD) this._ahead.take(frame);
    else this._painter.take(frame);
  }

  _take(message) {
    if (message.type === "ping") {
      this.measure.roundTripMs = message.round_trip_ms;
      return;
    }
    this.known = follow(this.known, message);
    if (message.type === "welcome") {
      this.shown = { ...this.shown, sequence: null }; // frames are numbered anew
      this._ahead.forget();
      if (this.isSeated) this.held.repeat();
      this._ahead.takeBack(); // what is held since then may make no step
      this._isNew = true;
    }
    if (message.type === "state" && this._isNew) {
      this._isNew = false;
      if (this.isSeated && this.phase === "waiting" && this.started === message.episode) this.send("start"); // lost with the connection
    }
    if (message.type === "state" && message.phase !== "running") this.measure.forget();
    if (message.type === "state" && message.phase !== "running") this._ahead.stand(message.step);
    if (message.type === "driver" && this.driver !== "human") this._ahead.takeBack();
    if (this._isReady && this.isSeated && this.phase === "waiting") {
      this._isReady = false;
      this.start();
    }
    this.dispatchEvent(new CustomEvent("message", { detail: message }));
    this.dispatchEvent(new Event("known"));
  }

  _linked(state, reason) {
    this.known = linked(this.known, state, reason);
    if (state !== "open") this._ahead.takeBack();
    this.dispatchEvent(new Event("known"));
  }

  _painted(frame) {
    const { sequence, step, total, flags } = frame;
    this._connection.send("ack", { seq: sequence, time: Math.round(performance.now() * 1e6) });
    this._ahead.confirm(frame, (flags & FIRST) !== 0);
    const isSame = step === this.shown.step && (flags & FIRST) === 0;
    const before = (flags & FIRST) !== 0 || step < this.shown.step ? 0 : this.shown.total;
    this.shown = { step, total, reward: isSame ? this.shown.reward : total - before, sequence };
    this.measure.paint(step);
    this.dispatchEvent(new Event("paint"));
  }

  _plugged(name) {
    this.pad = name;
    this.dispatchEvent(new CustomEvent("message", { detail: { type: "gamepad", name } }));
    this.dispatchEvent(new Event("known"));
  }
}
