// The socket of a person who waits for others. If it is lost, it is opened again; the place in the queue is lost with it.

const VERSION = 1;
const AGAIN_MS = 1000;

/**
 * @param {string} path of the socket @param {object | null} wanted fields of the first message; null: there is none
 * @param {(message: any) => void} take called with each message, and {type: "lost"}
 * @returns {() => void} waits no more
 */
export function waitIn(path, wanted, take) {
  let socket = /** @type {WebSocket | null} */ (null);
  let timer = 0;
  let isOver = false;
  const open = () => {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const mine = (socket = new WebSocket(`${scheme}://${location.host}${path}`));
    mine.onopen = () => wanted && mine.send(JSON.stringify({ v: VERSION, type: "wait", ...wanted }));
    mine.onmessage = ({ data }) => {
      if (isOver) return;
      const message = JSON.parse(data);
      if (message.type === "matched" || message.type === "refused") isOver = true;
      take(message);
    };
    mine.onclose = () => {
      if (isOver) return;
      take({ type: "lost" });
      timer = setTimeout(open, AGAIN_MS);
    };
  };
  open();
  return () => {
    isOver = true;
    clearTimeout(timer);
    socket?.close();
  };
}
