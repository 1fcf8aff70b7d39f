"""Detects whether images were once stored as JPEG, from their pixels alone.

JPEG (ITU-T T.81) cuts an image into blocks of 8 x 8 pixels, takes the cosine transform of each, and rounds every
coefficient to a multiple of a step. After decoding, the transform of the same blocks gives multiples again, except
for errors from rounding to whole pixels. Shifted blocks do not have this property, so they are the control: a
regular pattern in the picture itself would appear in both.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

BLOCK: Final = 8
LUMA: Final = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in JFIF's luma."""
STEPS: Final = np.arange(3, 41)
"""The quantisation steps that are tried."""
FREQUENCIES: Final = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1), (2, 2), (0, 3), (3, 0), (1, 3), (3, 1))
CONTROLS: Final = ((4, 4), (3, 5), (5, 2), (2, 3))
"""Where blocks of the control begin."""
LARGEST: Final = 256
"""The number of pixels that are enough for a decision."""
FEWEST_VALUES: Final = 100
"""Coefficients that are not rounded to zero, of one frequency."""
TOO_FEW: Final = -2.0
"""Instead of a mean cosine."""
FEWEST_LEVELS: Final = 64
"""Minimum levels of brightness in all images: drawn pictures have fewer, and cannot be judged by frequencies."""
LATTICE: Final = 0.7
"""What the mean cosine has to be: 1 where all are multiples, 0 where none are."""
GAP: Final = 0.45
"""The difference by which the score must exceed that of every control."""
FEWEST_FREQUENCIES: Final = 4


def has_traces(images: Sequence[np.ndarray]) -> bool:
    """Whether images of one size were JPEG.

    Args:
      images: `[height, width]` or `[height, width, 1 or 3]` uint8.
    """
    images = [image[:LARGEST, :LARGEST] for image in images]
    brightness = [_brightness(image) for image in images]
    if len(np.unique(np.round(np.stack(brightness)))) < FEWEST_LEVELS:
        return False
    own = _coefficients(brightness, images, (0, 0))
    others = [_coefficients(brightness, images, where) for where in CONTROLS]
    found = 0
    for index in range(len(FREQUENCIES)):
        score, step = _best(own[:, index])
        controls = [_score(other[:, index], np.array([step]))[0] for other in others]
        found += bool(score >= LATTICE and min(controls) > TOO_FEW and score - max(controls) >= GAP)
    return found >= FEWEST_FREQUENCIES


def _brightness(image: np.ndarray) -> np.ndarray:
    if image.ndim == 2:
        return image.astype(np.float64)
    return image[..., 0].astype(np.float64) if image.shape[-1] == 1 else image[..., :3] @ LUMA


def _coefficients(brightness: Sequence[np.ndarray], images: Sequence[np.ndarray], where: tuple[int, int]) -> np.ndarray:
    """`[blocks, frequencies]`, of the blocks that no clipping to black or white has changed."""
    basis = _basis()
    blocks = np.concatenate([_unclipped(grey, image, where) for grey, image in zip(brightness, images, strict=True)])
    found: np.ndarray = np.einsum("nij,fij->nf", _distinct(blocks), basis)
    return found


def _distinct(blocks: np.ndarray) -> np.ndarray:
    """Unique blocks, so that a constant background counts once."""
    whole = np.ascontiguousarray(blocks).reshape(-1, BLOCK * BLOCK)
    _, first = np.unique(whole.view(np.dtype((np.void, whole.strides[0]))).ravel(), return_index=True)
    return blocks[np.sort(first)]


def _unclipped(grey: np.ndarray, image: np.ndarray, where: tuple[int, int]) -> np.ndarray:
    blocks = _blocks(grey, where)
    extreme = ((image == 0) | (image == 255)).reshape(*grey.shape, -1).any(axis=-1)
    return blocks[~_blocks(extreme, where).any(axis=(1, 2))]


def _blocks(image: np.ndarray, where: tuple[int, int]) -> np.ndarray:
    """`[blocks, 8, 8]`."""
    part = image[where[0] :, where[1] :]
    rows, columns = part.shape[0] // BLOCK, part.shape[1] // BLOCK
    cut = part[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    return cut.swapaxes(1, 2).reshape(-1, BLOCK, BLOCK)


def _basis() -> np.ndarray:
    """`[frequencies, 8, 8]`: the cosine transform of T.81, section A.3.3."""
    at = np.arange(BLOCK)
    waves = [np.cos((2 * at + 1) * number * np.pi / (2 * BLOCK)) * (0.5 if number else 8**-0.5) for number in at]
    return np.stack([np.outer(waves[row], waves[column]) for row, column in FREQUENCIES])


def _best(values: np.ndarray) -> tuple[float, int]:
    scores = _score(values, STEPS)
    best = int(np.argmax(scores))
    return float(scores[best]), int(STEPS[best])


def _score(values: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The mean cosine, for each step, of the values that it does not round to zero; TOO_FEW where they are too few."""
    magnitudes = np.abs(values)
    scores = []
    for step in steps.tolist():
        large = magnitudes[magnitudes > step / 2]
        scores.append(float(np.cos(2 * np.pi * large / step).mean()) if len(large) >= FEWEST_VALUES else TOO_FEW)
    return np.array(scores)
