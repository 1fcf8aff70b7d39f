"""Converts arrays with many episodes to a dataset, in one call."""

import inspect
import operator
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Unpack

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import RldsKitError, SpecError
from rlds_kit.base.step import DECLARED_FIELDS, FLAGS, IS_FIRST, IS_LAST
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.episode.array_ends import MASKS, NEXT, TERMINALS, TIMEOUTS, VALIDS, ends_of, mapped
from rlds_kit.episode.flat_arrays import METADATA, NAMES, FlatEpisode, flat_episode
from rlds_kit.episode.flat_steps import step_episodes
from rlds_kit.logger.batch_fields import as_array
from rlds_kit.logger.episode_writer import EpisodeWriter
from rlds_kit.logger.recorder_options import RecorderOptions
from rlds_kit.logger.whole_episode import NAMES as PLURALS
from rlds_kit.logger.whole_episode import length_of
from rlds_kit.storage.array_rows import Nest

_D4RL: Final = (*NAMES, TERMINALS, TIMEOUTS, NEXT, METADATA, MASKS, VALIDS)
"""The names in arrays of transitions."""
_STEPS: Final = (*DECLARED_FIELDS, *FLAGS)
"""The names in arrays of steps."""
_EPISODE: Final = tuple(
    name
    for name, each in inspect.signature(EpisodeWriter.write).parameters.items()
    if name != "self" and each.kind is not inspect.Parameter.VAR_KEYWORD
)
"""The names in the arrays of one episode."""


def write_arrays(
    directory: str | os.PathLike[str],
    arrays: Mapping[str, object] | Iterable[Mapping[str, Any]],
    spec: specs.Dict | None = None,
    *,
    fields: Collection[str] = (),
    metadata: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    **options: Unpack[RecorderOptions],
) -> Dataset:
    """Records all episodes in arrays.

    The arrays are one of these; their values may be nested in dicts, and "infos/qpos" is the same as "qpos" in "infos":

    - transitions, as of D4RL: `observations`, `actions`, `terminals`, `timeouts`, and maybe `rewards`,
      `next_observations`, `infos`, and `metadata` of the dataset. An episode ends after a row with `terminals` or
      `timeouts`, and where `next_observations` differ from the observations of the next row. The final observation is
      the next one of the last row; without `next_observations` it is missing;
    - steps, as of RLDS: `observation`, `action`, `reward`, `discount`, with `is_last` or `is_first` or both, and maybe
      `is_terminal`. The last step holds the final observation: its action and reward must be zeros. Without
      `is_terminal` it is not known how episodes ended, and they are INTERRUPTED;
    - episodes, one after the other: dicts of the arguments of `EpisodeWriter.write`.

    Args:
      directory: of the dataset; created if it does not exist.
      arrays: as above.
      spec: of the declared fields; None: that of the arrays, or of those of the first episode.
      fields: names of further arrays, each a field of the steps.
      metadata: of this run.
      environment: the origin of the episodes; any recordable dict.
      options: `mode`, `policy` and others: see `RecorderOptions`.

    Returns:
      The dataset.

    Raises:
      SpecError: lengths differ, a name is not known or missing, or a value does not match the spec. Episodes before it
        are recorded.
      FormatError: flags are not 0 or 1, or `next_observations` are not like `observations`.
      UnsupportedTypeError: a value cannot be recorded.
      DatasetExistsError: the mode does not allow an existing dataset.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     ends = np.array([False, True, False, True])
    ...     transitions = {"observations": np.zeros((4, 3)), "actions": np.zeros((4, 2)), "terminals": ends}
    ...     dataset = write_arrays(directory, transitions | {"rewards": np.ones(4)})
    ...     [(len(episode), episode.end.name) for episode in dataset.episodes]
    [(3, 'TERMINATED'), (3, 'TERMINATED')]
    """
    own: dict[str, Any] = {**(metadata or {})}
    if isinstance(arrays, Mapping):
        tree = _tree(arrays)
        given = tree.pop(METADATA, {})
        if not isinstance(given, Mapping):
            raise SpecError(f"{METADATA}: expected a dict of metadata of the dataset, got {type(given).__name__}")
        own |= given
        found = _flat(tree, fields)
    else:
        found = _given(arrays, fields)
    first = next(found, None)
    declared = spec if spec is not None or first is None else _declared(first)
    with EpisodeWriter(directory, declared, metadata=own, environment=environment, **options) as writer:
        for number, each in enumerate([] if first is None else _chained(first, found)):
            try:
                _write(writer, each)
            except RldsKitError as error:
                error.add_note(f"This is episode {number} of the arrays; those before it are recorded.")
                raise
    return open_dataset(writer.recorder.directory)


Given = FlatEpisode | Mapping[str, Any]
"""An episode: its rows, or the arguments of `EpisodeWriter.write`."""


def _chained(first: Given, others: Iterable[Given]) -> Iterator[Given]:
    yield first
    yield from others


def _write(writer: EpisodeWriter, episode: Given) -> None:
    if isinstance(episode, FlatEpisode):
        flags = {"terminated": episode.terminated, "truncated": episode.truncated}
        writer.write_rows(episode.observed, episode.acted, episode.end, **flags)
    else:
        writer.write(**episode)


def _tree(arrays: Mapping[str, object]) -> dict[str, Any]:
    """Arrays by name; slashes in names separate nested dicts."""
    tree: dict[str, Any] = {}
    for path, values in arrays.items():
        if not isinstance(path, str):
            raise SpecError(f"arrays: expected names of arrays, got {path!r}")
        *groups, own = path.split("/")
        inner = tree
        for group in groups:
            inner = inner.setdefault(group, {})
            if not isinstance(inner, dict):
                raise SpecError(f"arrays: expected values or names with slashes below {group}, got both: {path}")
        if own in inner:
            raise SpecError(f"arrays: expected {path} once, got it twice")
        inner[own] = values if groups[:1] == [METADATA] or path == METADATA else as_array(values)
    return tree


def _flat(tree: dict[str, Any], fields: Collection[str]) -> Iterator[Given]:
    """The episodes of arrays of transitions or steps."""
    is_steps = IS_FIRST in tree or IS_LAST in tree
    if is_steps:
        tree = {PLURALS.get(name, name): each for name, each in tree.items()}
    elif TERMINALS not in tree and TIMEOUTS not in tree:
        raise SpecError(
            f"arrays: expected the ends of episodes, as {TERMINALS} and {TIMEOUTS}, or {IS_LAST} or {IS_FIRST}, got "
            f"only {', '.join(tree) or 'nothing'}; one episode is written by EpisodeWriter.write, several as a list"
        )
    _require_known(tree, (*(_STEPS if is_steps else _D4RL), *fields), ())
    missing = {"observation", "action"} - tree.keys() if is_steps else {"observations", "actions"} - tree.keys()
    if missing:
        raise SpecError(f"arrays: expected {' and '.join(sorted(missing))}, got only {', '.join(tree)}")
    rows = _rows(tree)
    return iter(step_episodes(tree, rows)) if is_steps else _transitions(tree, rows)


def _rows(tree: Mapping[str, Any]) -> int:
    lengths = {name: length_of(name, each) for name, each in tree.items()}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{count} in {name}" for name, count in lengths.items())
        raise SpecError(f"arrays: expected as many rows in every array, got {counted}")
    return next(iter(lengths.values()))


def _transitions(tree: dict[str, Any], rows: int) -> Iterator[FlatEpisode]:
    tree |= {name: np.asarray(tree[name]) for name in (TERMINALS, TIMEOUTS) if name in tree}
    tree.setdefault(TERMINALS, np.zeros(rows, np.bool_))  # without timeouts, terminals may mean something else
    ends = ends_of("arrays", tree, rows)
    steps = {name: True for name in tree if name not in (NEXT, TERMINALS, TIMEOUTS)}
    begin = 0
    for end in ends.after:
        final = mapped(operator.itemgetter(slice(end - 1, end)), tree[NEXT]) if NEXT in tree else None
        yield flat_episode(tree, steps, ends, begin, end, final)
        begin = end


def _given(episodes: Iterable[Mapping[str, Any]], fields: Collection[str]) -> Iterator[Given]:
    """The episodes of dicts, one for each."""
    for number, episode in enumerate(episodes):
        if not isinstance(episode, Mapping):
            raise SpecError(f"episode {number}: expected a dict of arrays, got {type(episode).__name__}")
        _require_known(episode, (*_EPISODE, *fields), ("observations", "actions"), f"episode {number}")
        yield episode


def _require_known(
    found: Mapping[str, Any], known: Collection[str], required: Collection[str], place: str = "arrays"
) -> None:
    unknown = [name for name in found if name not in known]
    if unknown:
        raise SpecError(
            f"{place}: expected the names {', '.join(known)}, got {', '.join(map(str, unknown))}; name further arrays "
            f"that are fields of steps: fields={unknown}"
        )
    missing = [name for name in required if name not in found]
    if missing:
        raise SpecError(f"{place}: expected {' and '.join(missing)}, got only {', '.join(found)}")


def _declared(first: Given) -> specs.Dict:
    """The spec of an episode's declared fields, as far as they are arrays of numbers."""
    if isinstance(first, FlatEpisode):
        columns = {**first.observed.columns, **first.acted.columns}
    else:
        columns = {field: as_array(first[name]) for name, field in PLURALS.items() if first.get(name) is not None}
    found = {name: _spec(columns[name]) for name in DECLARED_FIELDS if name in columns}
    return specs.Dict({name: each for name, each in found.items() if each is not None})


def _spec(values: Nest) -> specs.Spec | None:
    if isinstance(values, np.ndarray):
        is_number = values.dtype.kind in "biufc" and values.dtype.char not in "gG"  # longdouble cannot be recorded
        return specs.Array(values.shape[1:], values.dtype) if is_number and values.ndim else None
    if not isinstance(values, dict | tuple):
        return None
    parts = [_spec(each) for each in (values.values() if isinstance(values, dict) else values)]
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    return specs.Dict(dict(zip(values, known, strict=True))) if isinstance(values, dict) else specs.Tuple(tuple(known))
