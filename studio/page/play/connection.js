// The socket of a session. If it is lost, it is opened again, with ever longer waits.

const VERSION = 1;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
/** Closed on purpose, as studio/play/window.py names it: trying again would change nothing. */
const FOR_GOOD = { 1000: "left", 4000: "ended", 4001: "displaced", 4003: "refused", 4401: "refused", 4403: "refused", 4421: "refused" };

/**
 * @typedef {"connecting" | "open" | "lost" | "left" | "ended" | "displaced" | "refused"} Link
 * @typedef {{message: (message: any) => void, frame: (data: ArrayBuffer) => void,
 *   link: (state: Link, reason: string) => void}} Listener
 */

export class Connection {
  /** @param {string} session @param {string} token @param {Listener} listener */
  constructor(session, token, listener) {
    this._session = session;
    this._token = token;
    this._listener = listener;
    this._wait = FIRST_WAIT_MS;
    this._timer = 0;
    this._isOver = false;
    this._socket = /** @type {WebSocket | null} */ (null);
    this._now = () => this._again();
    addEventListener("online", this._now);
    this._open("connecting");
  }

  /** Sends a message; where there is no connection it is lost, as it would be late. */
  send(type, fields = {}) {
    if (this._socket?.readyState !== WebSocket.OPEN) return false;
    this._socket.send(JSON.stringify({ v: VERSION, type, ...fields }));
    return true;
  }

  /** Ends it. */
  close() {
    this._isOver = true;
    clearTimeout(this._timer);
    removeEventListener("online", this._now);
    this._socket?.close();
  }

  /** Tries again now. */
  _again() {
    if (this._socket !== null || this._isOver) return;
    clearTimeout(this._timer);
    this._open("lost");
  }

  /** @param {Link} state */
  _open(state) {
    this._listener.link(state, "");
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws/play?session=${encodeURIComponent(this._session)}`);
    socket.binaryType = "arraybuffer";
    this._socket = socket;
    socket.onopen = () => this.send("hello", { token: this._token, ahead: true });
    socket.onmessage = ({ data }) => {
      if (this._isOver) return;
      if (typeof data === "string") this._take(JSON.parse(data));
      else this._listener.frame(data);
    };
    socket.onclose = ({ code, reason }) => this._closed(code, reason);
  }

  _take(message) {
    if (message.type === "ping") this.send("pong", { number: message.number }); // at once: the server measures it
    if (message.type === "welcome") {
      this._wait = FIRST_WAIT_MS;
      this._listener.link("open", "");
    }
    this._listener.message(message);
  }

  _closed(code, reason) {
    this._socket = null;
    if (this._isOver) return;
    const state = FOR_GOOD[code];
    this._listener.link(state ?? "lost", reason);
    if (state) {
      this.close();
      return;
    }
    this._timer = setTimeout(() => this._open("lost"), this._wait * (0.75 + Math.random() / 2));
    this._wait = Math.min(2 * this._wait, LONGEST_WAIT_MS);
  }
}
