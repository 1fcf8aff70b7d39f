"""All steps of a dataset as flat arrays in memory, with the bounds of episodes."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import FLAGS, IS_FIRST, IS_LAST, IS_TERMINAL
from rlds_kit.loader import forms
from rlds_kit.loader.block_columns import Target
from rlds_kit.loader.layout import Leaf, layout, nested, require_cast
from rlds_kit.loader.nests import flattened
from rlds_kit.loader.place import require_known_end
from rlds_kit.loader.segments import Segments, segments
from rlds_kit.loader.source import Source
from rlds_kit.loader.whole_columns import read_columns


@dataclass(frozen=True, eq=False)
class StepColumns(Mapping[str, Any]):
    """Fields of all steps, one episode after the other. Made by `Dataset.arrays`.

    `columns["observation"]` is `[steps, ...]`, or a nest of such arrays. Steps of episode `i` are those from
    `offsets[i]` to `offsets[i + 1]`. As in every recording, the last step of an episode has an observation only: its
    action and reward are zeros, and False in `valid`.

    Attributes:
      fields: by name, `[steps, ...]` or a nest of them; and the flags `is_first`, `is_last`, `is_terminal`.
      valid: by name of a field, `[steps]` bool or a nest of them: where a value is defined.
      offsets: `[episodes + 1]` int64, the first step of every episode, and the number of all steps.
      followed: `[steps]` bool: the next step is of the same episode, and no step between them was left out.
      name: of the dataset, for messages.
    """

    fields: Mapping[str, Any]
    valid: Mapping[str, Any]
    offsets: np.ndarray
    followed: np.ndarray
    name: str

    def __getitem__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise KeyError(f"there is no field {name!r} here; there are {', '.join(self.fields)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        """The number of fields."""
        return len(self.fields)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return int(self.offsets[-1])

    def as_d4rl_dict(self) -> dict[str, Any]:
        """The transitions in the form of D4RL's datasets, which CORL takes.

        There is one row for every action: `observations`, `actions`, `rewards`, `next_observations`, `terminals` where
        the next observation is terminal, and `timeouts` where an episode ends otherwise, or steps were left out.

        Raises:
          KeyError: observation, action, reward or is_terminal was not read.
          SpecError: data lack the last observation of an episode.

        >>> ds.arrays("observation", "action", "reward", "is_terminal").as_d4rl_dict()  # doctest: +SKIP
        """
        return forms.d4rl_dict(self, self._acted)

    def as_mdp_dataset(self) -> Any:  # a d3rlpy.dataset.MDPDataset
        """The transitions as a `d3rlpy.dataset.MDPDataset`.

        Raises:
          MissingExtraError: d3rlpy is not installed.
          SpecError: fields are nested, or data lack the last observation of an episode.
        """
        return forms.mdp_dataset(self.as_d4rl_dict())

    def as_replay_buffer(self) -> Any:  # a tianshou.data.ReplayBuffer
        """The transitions as a full `tianshou.data.ReplayBuffer`.

        Raises:
          MissingExtraError: Tianshou is not installed.
          SpecError: data lack the last observation of an episode.
        """
        return forms.replay_buffer(self.as_d4rl_dict())

    def as_tensordict(self) -> Any:  # a tensordict.TensorDict
        """The transitions as a `tensordict.TensorDict`, for the storages and samplers of TorchRL.

        What an action led to is below "next": observation, reward, done, terminated, truncated. `episode` and `step`
        are the position in the dataset; `SliceSampler(traj_key="episode")` takes slices of episodes.

        Raises:
          MissingExtraError: tensordict is not installed.
          SpecError: data lack the last observation of an episode.
        """
        found = self._acted
        return forms.tensordict(forms.d4rl_dict(self, found), found, self.offsets)

    @property
    def _acted(self) -> forms.Acted:
        return forms.acted(self, self.valid, self.followed, self.name)

    def __repr__(self) -> str:
        return f"<{self.steps} steps of {len(self.offsets) - 1} episodes of {self.name}: {', '.join(self.fields)}>"


def step_columns(source: Source, dtypes: Mapping[str, Any], out: Mapping[str, Any] | None, threads: int) -> StepColumns:
    """Reads all steps of a source; arguments and errors as those of `Dataset.arrays`."""
    chosen = {name: np.dtype(dtype) for name, dtype in dtypes.items()}
    layouts = {name: layout(source.spec, name, chosen) for name in source.fields if name not in FLAGS}
    require_cast(layouts, chosen)
    steps = int(source.lengths.sum())
    given = {} if out is None else {path: each for item in layouts.items() for path, each in _given(out, *item).items()}
    targets = {
        leaf.path: _target(source.name, leaf, steps, given.get(leaf.path))
        for leaves in layouts.values()
        for leaf in leaves
    }
    _require_apart([*targets.values()])
    found = segments(source)
    read_columns(source, [*targets.values()], threads)
    fields = {name: nested(leaves, lambda leaf: targets[leaf.path].values) for name, leaves in layouts.items()}
    valid = {name: nested(leaves, lambda leaf: targets[leaf.path].defined) for name, leaves in layouts.items()}
    flags = {name: flag for name, flag in _flags(found, steps).items() if name in source.fields}
    offsets = np.append(source.bases, steps).astype(np.int64)
    return StepColumns({**fields, **flags}, valid, offsets, _followed(found, steps), source.name)


def _given(out: Mapping[str, Any], name: str, leaves: tuple[Leaf, ...]) -> dict[str, np.ndarray]:
    """The arrays of `out` for a field, by path of the leaf."""
    found: dict[str, np.ndarray] = {}
    arrays = flattened(out[name], name) if name in out else {}
    for path, leaf in flattened(nested(leaves, lambda leaf: leaf), name).items():
        if not isinstance(arrays.get(path), np.ndarray):
            came = f"{path!r} is of type {type(arrays[path]).__name__}" if path in arrays else f"there is no {path!r}"
            raise TypeError(f"out: expected a NumPy array for every array of a field, but {came}")
        found[leaf.path] = arrays[path]
    return found


def _target(name: str, leaf: Leaf, steps: int, given: np.ndarray | None) -> Target:
    if leaf.spec is None:
        raise SpecError(
            f"{name}: {leaf.path} has no array for all steps, because its values are text or objects, or differ in "
            "shape or may be missing; leave it out: name the other fields in `select`, or read it one episode at a time"
        )
    defined = np.empty(steps, np.bool_)
    if given is None:
        return Target(leaf, np.empty((steps, *leaf.shape), leaf.dtype), defined)
    is_right = given.dtype == leaf.dtype and given.shape[1:] == leaf.shape and len(given) >= steps
    if not is_right or not given.flags.c_contiguous or not given.flags.writeable:
        raise ValueError(
            f"out: expected for {leaf.path} a writable array in C order of dtype {leaf.dtype} and shape "
            f"{(steps, *leaf.shape)}, or longer, got {given.dtype} and {given.shape}"
            f"{'' if is_right else '; `dtypes` converts'}"
        )
    return Target(leaf, given[:steps], defined)


def _require_apart(targets: Sequence[Target]) -> None:
    """Raises ValueError if two arrays have bytes in common: one would overwrite the other."""
    ordered = sorted((each.values.ctypes.data, each.values.nbytes, each.leaf.path) for each in targets)
    for (begin, size, path), (following, _, other) in itertools.pairwise(each for each in ordered if each[1]):
        if following < begin + size:
            raise ValueError(f"out: expected separate memory for every array, but {path} and {other} overlap")


def _followed(found: Segments, steps: int) -> np.ndarray:
    followed = np.ones(steps, np.bool_)
    followed[found.base + found.end - 1] = False
    return followed


def _flags(found: Segments, steps: int) -> dict[str, np.ndarray]:
    flags = {name: np.zeros(steps, np.bool_) for name in (IS_FIRST, IS_LAST, IS_TERMINAL)}
    flags[IS_FIRST][found.base] = True
    require_known_end(found, found.is_cut)
    last = found.base + found.rows - 1
    flags[IS_LAST][last[found.is_ended]] = True
    flags[IS_TERMINAL][last[found.is_ended & found.is_terminated]] = True
    return flags
