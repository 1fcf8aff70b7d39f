"""What a page acknowledges, and what is on its canvas in that moment."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

_FACTOR: Final = 2_654_435_761
"""An odd number without a pattern: pixels that are exchanged change the sum."""
_SCRIPT: Final = """
(() => {
  window.acknowledged = [];
  const WEIGHTS = [];
  const sum = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    let found = 0;
    for (let i = 0; i < pixels.length; i += 1) {
      WEIGHTS[i] ??= Math.imul(2 * i + 1, FACTOR) | 1;
      found = (found + Math.imul(pixels[i], WEIGHTS[i])) | 0;
    }
    return found >>> 0;
  };
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      this._frames = new Map();
      this._episode = -1;
      this._hasBegun = false;
      this.addEventListener("message", ({ data }) => {
        if (typeof data === "string") this._hear(JSON.parse(data));
        else this._see(data);
      });
    }

    _hear({ type, episode }) {
      if (type !== "state" || episode <= this._episode) return;
      this._episode = episode;
      this._hasBegun = false;
    }

    _see(data) {
      const view = new DataView(data);
      const step = view.getUint32(12, true);
      if (view.getUint8(5) & 4 && this._hasBegun) {
        this._episode += 1;
        this._hasBegun = false;
      }
      this._hasBegun ||= step > 0;
      const frame = [this._episode, step, view.getFloat64(24, true), view.getUint8(4) < 2];
      this._frames.set(view.getUint32(8, true), frame);
    }

    send(text) {
      const { type, seq } = JSON.parse(text);
      if (type === "ack") {
        acknowledged.push([...this._frames.get(seq), sum(document.querySelector(".arena canvas"))]);
        this._frames.delete(seq);
      }
      super.send(text);
    }
  };
})();
"""


class Seen(NamedTuple):
    """A frame that a page has painted and acknowledged.

    Attributes:
      episode: in its session.
      step: of the episode.
      total: sum of rewards of the seat.
      is_exact: whether the picture was sent without loss.
      picture: checksum of the canvas; see `checksum`.
    """

    episode: int
    step: int
    total: float
    is_exact: bool
    picture: int


def note_acknowledged(page: Page) -> None:
    """Has a page that loads nothing yet note what it acknowledges, for `acknowledged`."""
    page.add_init_script(_SCRIPT.replace("FACTOR", str(_FACTOR)))


def acknowledged(page: Page) -> list[Seen]:
    """What a page has acknowledged, in order."""
    found: list[list[Any]] = page.evaluate("acknowledged")
    return [Seen(*each) for each in found]


def checksum(picture: NDArray[np.uint8]) -> int:
    """That of a canvas with this picture, `[height, width, 3]`."""
    alpha = np.full((*picture.shape[:2], 1), 255, np.uint8)
    pixels = np.concatenate([picture, alpha], axis=2).reshape(-1, 4).copy().view("<u4").ravel()
    weights = ((2 * np.arange(len(pixels), dtype=np.uint64) + 1) * np.uint64(_FACTOR)).astype(np.uint32) | np.uint32(1)
    return int((pixels * weights).sum(dtype=np.uint32))
