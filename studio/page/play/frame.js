// The bytes of a frame, as studio/play/frame_header.py lays them out.

const MAGIC = 0x31464b52; // "RKF1"
const SIZE = 36;
const TYPES = ["image/png", "image/webp", "image/jpeg"];

export const TEXT = 3;
export const NOTHING = 4;
export const TERMINATED = 1;
export const TRUNCATED = 2;
export const FIRST = 4;
export const AHEAD = 8;

/**
 * @typedef {{codec: number, flags: number, action: number, sequence: number, step: number, serverMs: number, total: number,
 *   payload: Uint8Array, type: string}} Frame `action`: of a picture ahead; `total`: sum of rewards; `type`: of a picture
 */

/** @param {ArrayBuffer} data @returns {Frame} */
export function parse(data) {
  const view = new DataView(data);
  if (data.byteLength < SIZE || view.getUint32(0, true) !== MAGIC) throw new Error("the server sent what is no frame");
  const length = view.getUint32(32, true);
  if (data.byteLength !== SIZE + length) throw new Error("the server sent a frame of another size than it says");
  const codec = view.getUint8(4);
  return {
    codec,
    flags: view.getUint8(5),
    action: view.getUint16(6, true),
    sequence: view.getUint32(8, true),
    step: view.getUint32(12, true),
    serverMs: Number(view.getBigInt64(16, true)) / 1e6,
    total: view.getFloat64(24, true),
    payload: new Uint8Array(data, SIZE, length),
    type: TYPES[codec] ?? "",
  };
}
