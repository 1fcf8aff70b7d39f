"""What samples must be, computed step by step in plain Python from what `dataset.episodes` returns.

A field's leaves are named by paths, as in "observation/inner/x". Across a gap nothing is joined: the data model says
that a transition from step k to step k + 1 exists exactly where the action of step k is defined.
"""

import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit import Dataset, Episode, EpisodeEnd
from rlds_kit import spec as specs
from tests.storage.truth import same

ACTED: Final = ("action", "reward", "discount")
FLAGS: Final = ("is_first", "is_last", "is_terminal")

_FLAGS_VALID: Final = {f"valid/{name}" for name in FLAGS}

Sample = dict[str, Any]
"""Path to the value."""


@dataclass
class Leaf:
    """An array of a field, over all steps of an episode; `values[k]` is zeros, or None, where it is not defined."""

    values: list[Any]
    defined: np.ndarray
    zero: Any


@dataclass
class TrueEpisode:
    """An episode as lists."""

    length: int
    is_terminated: bool
    leaves: dict[str, Leaf]
    flags: dict[str, np.ndarray]
    segments: list[range]


def true_episodes(dataset: Dataset, names: Iterable[str]) -> list[TrueEpisode]:
    """All episodes with these fields, as far as the dataset has them."""
    leaves = [found for name in names if name in dataset.spec.fields for found in spec_leaves(dataset.spec, name)]
    return [_true_episode(episode, leaves) for episode in dataset.episodes]


def _true_episode(episode: Episode, leaves: Iterable[tuple[str, specs.Spec]]) -> TrueEpisode:
    return TrueEpisode(
        length=episode.length,
        is_terminated=episode.end is EpisodeEnd.TERMINATED,
        leaves={path: _leaf(episode, path, leaf) for path, leaf in leaves},
        flags={name: episode[name] for name in FLAGS},
        segments=_segments(episode),
    )


def _segments(episode: Episode) -> list[range]:
    try:
        acted = episode.mask("action")
    except KeyError:  # nothing was ever done
        acted = np.zeros(episode.length, np.bool_)
    cuts = [0, *(k + 1 for k in range(episode.length - 1) if not acted[k]), episode.length]
    return [range(begin, end) for begin, end in itertools.pairwise(cuts)]


def spec_leaves(spec: specs.Dict, name: str) -> Iterator[tuple[str, specs.Spec]]:
    """The paths of a field's arrays, and of what is no array of known shape."""
    yield from _below(name, spec.fields[name])


def _below(path: str, spec: specs.Spec) -> Iterator[tuple[str, specs.Spec]]:
    match spec:
        case specs.Dict(fields) if fields:
            for key, item in fields.items():
                yield from _below(f"{path}/{key.replace('/', '~1')}", item)
        case specs.Tuple(items):
            for index, item in enumerate(items):
                yield from _below(f"{path}/({index})", item)
        case _:
            yield path, spec


def is_array(spec: specs.Spec) -> bool:
    """Whether a loader gives an array of the recorded dtype."""
    return isinstance(spec, specs.Array) and None not in spec.shape


def _leaf(episode: Episode, path: str, spec: specs.Spec) -> Leaf:
    try:
        stacked, defined = episode[path], episode.mask(path)
    except KeyError:  # a dynamic field that no step has
        stacked, defined = None, np.zeros(episode.length, np.bool_)
    if isinstance(spec, specs.Array) and is_array(spec):
        zero = np.zeros([size or 0 for size in spec.shape], spec.dtype)
        values = [stacked[row] if defined[row] else zero for row in range(episode.length)]
        return Leaf(values, defined, zero)
    steps = [_at(step, path) if there else None for step, there in zip(episode.steps, defined, strict=True)]
    return Leaf(steps, defined, None)


def _at(value: Any, path: str) -> Any:
    for key in path.split("/"):
        value = value[int(key[1:-1])] if key.startswith("(") else value[key.replace("~1", "/")]
    return value


# The samples.


def windows(episodes: Sequence[TrueEpisode], length: int, stride: int, pad: str) -> list[Sample]:
    """Windows, one after the other."""
    found = []
    for number, episode in enumerate(episodes):
        for segment in episode.segments:
            for start in range(segment.start, segment.stop, stride):
                if pad != "none" or start + length <= segment.stop:
                    sample: Sample = {"episode": number, "step": start}
                    sample["mask"] = np.array([row < segment.stop for row in range(start, start + length)])
                    for name in (*episode.leaves, *FLAGS):
                        _put(sample, episode, segment, name, range(start, start + length), pad)
                    found.append({path: value for path, value in sample.items() if path not in _FLAGS_VALID})
    return found


def chunks(
    episodes: Sequence[TrueEpisode], offsets: Mapping[str, Sequence[int]], pad: str, paths: Mapping[str, Sequence[str]]
) -> list[Sample]:
    """Chunks, one after the other; `paths` are the leaves of each field."""
    found = []
    for number, episode in enumerate(episodes):
        for segment in episode.segments:
            for row in segment:
                if pad == "none" and not all(
                    row + offset in segment[: len(segment) - (name.split("/")[0] in ACTED)]
                    for name, those in offsets.items()
                    for offset in those
                ):
                    continue
                sample: Sample = {"episode": number, "step": row}
                for name, those in offsets.items():
                    has_it = segment[:-1] or segment if name.split("/")[0] in ACTED else segment
                    for path in paths[name]:
                        _put(sample, episode, has_it, path, [row + offset for offset in those], pad)
                found.append(sample)
    return found


def _put(sample: Sample, episode: TrueEpisode, segment: range, name: str, rows: Sequence[int], pad: str) -> None:
    """Values of a leaf or flag at rows that may lie outside the segment."""
    inside = [row in segment for row in rows]
    nearest = [min(max(row, segment.start), segment.stop - 1) for row in rows]
    pairs = list(zip(nearest, inside, strict=True))
    if name in FLAGS:
        flag = episode.flags[name]
        sample[name] = [flag[row] and there for row, there in pairs]
        sample[f"valid/{name}"] = np.array(inside)
        return
    leaf = episode.leaves[name]
    sample[name] = [leaf.values[row] if there or pad == "repeat" else leaf.zero for row, there in pairs]
    sample[f"valid/{name}"] = np.array([there and leaf.defined[row] for row, there in pairs])


def transitions(episodes: Sequence[TrueEpisode], n: int, gamma: float, *, has_discount: bool) -> list[Sample]:
    """Transitions, one after the other; rewards and discounts in float64."""
    found = []
    for number, episode in enumerate(episodes):
        for segment in episode.segments:
            made = [_transition(episode, segment, row, n, gamma, has_discount) for row in segment[:-1]]
            found += [{**sample, "episode": number} for sample in made]
    return found


def _transition(episode: TrueEpisode, segment: range, row: int, n: int, gamma: float, has_discount: bool) -> Sample:
    following = min(row + n, segment.stop - 1)
    is_terminal = episode.is_terminated and following == episode.length - 1
    sample: Sample = {
        "step": row,
        "n_steps": following - row,
        "is_first": row == 0,
        "next_is_last": episode.flags["is_last"][following],
        "next_is_terminal": is_terminal,
    }
    discounts = [_discount(episode, at) if has_discount else 1.0 for at in range(row, following)]
    sample["discount"] = 0.0 if is_terminal else float(np.prod([gamma * each for each in discounts]))
    for name, leaf in episode.leaves.items():
        field = name.split("/")[0]
        if field == "reward":
            sample[name] = _return(leaf, range(row, following), discounts, gamma)
            sample[f"valid/{name}"] = all(leaf.defined[row:following])
        elif field != "discount":
            sample[name], sample[f"valid/{name}"] = leaf.values[row], leaf.defined[row]
        if field == "observation":
            sample[f"next_{name}"], sample[f"valid/next_{name}"] = leaf.values[following], leaf.defined[following]
    return sample


def _discount(episode: TrueEpisode, row: int) -> float:
    leaf = episode.leaves["discount"]
    return float(leaf.values[row]) if leaf.defined[row] else 1.0


def _return(leaf: Leaf, rows: range, discounts: list[float], gamma: float) -> Any:
    total, factor = np.float64(0) if leaf.zero is None else leaf.zero.astype(np.float64), 1.0
    for row, discount in zip(rows, discounts, strict=True):
        if leaf.defined[row]:
            total = total + factor * np.asarray(leaf.values[row], np.float64)
        factor *= gamma * discount
    return total


# Comparing.


def flat(nest: Any, path: str = "") -> dict[str, np.ndarray]:
    """The arrays of a batch by path."""
    if isinstance(nest, np.ndarray):
        return {path: nest}
    items = nest.items() if isinstance(nest, dict) else ((f"({at})", item) for at, item in enumerate(nest))
    found: dict[str, np.ndarray] = {}
    for key, item in items:
        escaped = key.replace("/", "~1")
        found |= flat(item, f"{path}/{escaped}" if path else escaped)
    return found


def assert_batch(
    batch: Mapping[str, Any], expected: Sequence[Sample], spec: specs.Dict, rounded: Sequence[str] = ()
) -> None:
    """The batch has these samples and nothing else, bit for bit and of the recorded dtypes.

    Values of the fields `rounded` may differ by rounding, and their dtype is not looked at.
    """
    dtypes = {
        path: leaf.dtype
        for name in spec.fields
        for path, leaf in spec_leaves(spec, name)
        if isinstance(leaf, specs.Array) and is_array(leaf)
    }
    arrays = flat(dict(batch))
    assert all(len(array) == len(expected) for array in arrays.values())
    if expected:
        assert arrays.keys() == expected[0].keys()
    for path, array in arrays.items():
        truth = [sample[path] for sample in expected]
        dtype = dtypes.get(path.removeprefix("next_"), np.dtype(object if array.dtype == object else array.dtype))
        if path.split("/")[0] in rounded:
            tolerance = 2e-3 if array.dtype == np.float16 else 1e-5
            wanted = np.array(truth, np.float64).reshape(array.shape)
            np.testing.assert_allclose(array.astype(np.float64), wanted, rtol=tolerance, atol=tolerance, err_msg=path)
        elif dtype.hasobject:
            assert array.dtype == dtype, path
            for one, other in zip(array, truth, strict=True):
                assert same(_listed(one), other), f"{path}: {one!r} instead of {other!r}"
        else:
            wanted = np.array(truth, dtype).reshape(array.shape)
            assert same(np.ascontiguousarray(array), wanted), f"{path}: {array!r} instead of {wanted!r}"


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, np.ndarray) and value.dtype == object else value


def same_batches(some: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> bool:
    """Whether batches are the same bit for bit, dtypes and names included."""
    return len(some) == len(others) and all(
        same(flat(dict(one)), flat(dict(other))) for one, other in zip(some, others, strict=True)
    )


def numbers_of(batches: Iterable[Mapping[str, Any]]) -> list[int]:
    """Which samples of a numbered dataset, by their first observation."""
    return [
        int(each) for batch in batches for each in batch["observation"].reshape(len(batch["step"]), -1)[:, 0].tolist()
    ]


def loader_threads() -> list[str]:
    """The threads that decode for any loader."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("rlds_kit-loader")]
