// The training on the server: what it says, and what is sent to it.

/**
 * @typedef {{name: string, kind: string, text: string, n_games: number | null, is_official: boolean, keys: Record<string, number>}} Stage
 * @typedef {{stage: Stage | null, is_paused: boolean, step_ms: number, score: number, counters: {game: number, step: number, total: number}}} State
 * @typedef {{id: number, key: string, did: {number: number, total: number, about: number} | null}} Pressed
 * @typedef {{state?: State, pressed?: Pressed, failed?: string, closed?: boolean}} Message
 */

export class Connection {
  /**
   * @param {string} query
   * @param {(message: Message) => void} hear
   * @param {(picture: string) => void} show a PNG in base64
   */
  constructor(query, hear, show) {
    this.frame = -1;
    this.presses = 0;
    this.socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/tasks/train?${query}`);
    this.socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.picture === undefined) return hear(message);
      show(message.picture);
      this.frame = message.frame;
      return this.send({ do: "shown", frame: message.frame });
    };
    this.socket.onclose = ({ reason }) => hear({ closed: true, failed: reason || undefined });
  }

  /** @param {object} message */
  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** A key or a button; the server confirms it when it is on the disk. @param {string} key @param {"keyboard" | "button"} device */
  press(key, device) {
    const sent = Math.round(performance.timeOrigin * 1e6 + performance.now() * 1e6);
    this.send({ do: "press", key, device, id: this.presses, frame: this.frame, sent_ns: sent });
    this.presses += 1;
  }

  close() {
    this.socket.onclose = null;
    this.socket.close();
  }
}
