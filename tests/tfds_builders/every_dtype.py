"""Episodes of every dtype that TensorFlow Datasets has, of random bits: NaNs with payloads and -0.0 are among them."""

from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter

DTYPES: Final = {
    np.dtype(dtype).name: np.dtype(dtype)
    for dtype in (
        *(bool, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128", ml_dtypes.bfloat16),
    )
}
SHAPES: Final[dict[str, tuple[int | None, ...]]] = {
    "scalar": (),
    "few": (2, 3),
    "many": (40, 40),
    "empty": (3, 0),
    "ragged": (None, 3),
}
IMAGES: Final = {"grey": (5, 4, 1), "two": (5, 4, 2), "rgb": (5, 4, 3), "rgba": (5, 4, 4), "seven": (5, 4, 7)}
LENGTHS: Final = (4, 1, 6)
"""Actions of each episode."""
REFUSED: Final = {("uint32", "ragged"), ("uint32", "empty")}
METADATA: Final = (
    {"score": -0.0, "n": 2**62, "won": True, "task": "öffnen\0", "raw": b"\xff\0", "weights": [0.1, 0.2]},
) * 3


def spec() -> specs.Dict:
    """Of observations and actions."""
    arrays = {
        name: specs.Dict(
            {kind: specs.Array(shape, dtype) for kind, shape in SHAPES.items() if (name, kind) not in REFUSED}
        )
        for name, dtype in DTYPES.items()
    }
    images = {name: specs.Array(shape, np.uint8) for name, shape in IMAGES.items()}
    pair = specs.Tuple((specs.Array((), np.float64), specs.List((specs.Text(), specs.Array((2,), "<U3")))))
    return specs.Dict(
        {
            "observation": specs.Dict({**arrays, **images, "pair": pair, "text": specs.Text(), "raw": specs.Bytes()}),
            "action": specs.Array((2,), np.float32),
            "reward": specs.Array((), np.float64),
            "discount": specs.Array((), np.float32),
        }
    )


def value(held: specs.Spec, rng: np.random.Generator) -> Any:
    """Random bits that fit a spec."""
    match held:
        case specs.Dict(fields):
            return {key: value(item, rng) for key, item in fields.items()}
        case specs.Tuple(items):
            return tuple(value(item, rng) for item in items)
        case specs.List(items):
            return [value(item, rng) for item in items]
        case specs.Text():
            return str(rng.choice(["", "öffnen", "a\0"]))
        case specs.Bytes():
            return rng.bytes(int(rng.integers(4)))
        case specs.Array(shape, dtype):
            return _array([int(rng.integers(4)) if size is None else size for size in shape], dtype, rng)
    raise AssertionError(held)


def _array(shape: list[int], dtype: np.dtype[Any], rng: np.random.Generator) -> np.ndarray | np.generic:
    array: np.ndarray
    if dtype.kind == "U":
        array = rng.choice(["", "abc", "ß"], shape).astype(dtype)
    elif dtype.kind == "b":
        array = rng.integers(2, size=shape).astype(bool)
    else:
        array = np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)
    return array if shape else array.reshape(1)[0]


def given(number: int) -> list[dict[str, Any]]:
    """The steps of an episode, without what is undefined on its last one."""
    rng = np.random.default_rng(number)
    rows = [{name: value(held, rng) for name, held in spec().fields.items()} for _ in range(LENGTHS[number] + 1)]
    return [*rows[:-1], {"observation": rows[-1]["observation"]}]


def record(directory: Path) -> None:
    """Records the episodes."""
    with EpisodeWriter(directory, spec(), record_time=False) as writer:
        for number in range(len(LENGTHS)):
            first, *others = given(number)
            with writer.episode(metadata=METADATA[number]) as episode:
                episode.start(first["observation"])
                for before, step in zip([first, *others], others, strict=False):
                    acted = {name: before[name] for name in ("action", "reward", "discount")}
                    episode.step(**acted, observation=step["observation"], terminated="action" not in step)


def expected(number: int) -> list[dict[str, Any]]:
    """The steps of an episode as TFDS should give them."""
    steps = given(number)
    for row, step in enumerate(steps):
        is_last = row == len(steps) - 1
        step |= {"is_first": np.bool_(row == 0), "is_last": np.bool_(is_last), "is_terminal": np.bool_(is_last)}
        if is_last:
            step |= {"action": np.zeros(2, np.float32), "reward": np.float64(0), "discount": np.float32(0)}
    return steps


def bits(given: Any) -> Any:
    """A nest of what is equal for equal dtypes, shapes and bits only; text as bytes, tuples as dicts."""
    match given:
        case dict():
            return {key: bits(item) for key, item in given.items()}
        case tuple() | list():
            return {str(index): bits(item) for index, item in enumerate(given)}
        case str():
            return given.encode()
        case bytes():
            return given
    array = np.asarray(given)
    if array.dtype.kind in "OUS":
        return [item if isinstance(item, bytes) else item.encode() for item in array.reshape(-1).tolist()]
    return array.dtype.name, array.shape, array.tobytes()
