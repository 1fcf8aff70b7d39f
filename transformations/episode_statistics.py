"""Statistics of a dataset of episodes: of each field, of lengths and of returns."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import tensorflow as tf

from rlds_kit.base.rlds_types import STEPS
from rlds_kit.base.running_statistics import QUANTILE_ELEMENTS, EpisodeStatistics, Rows, gather_statistics
from rlds_kit.base.step import FLAGS, REWARD, STEP_INDEX
from rlds_kit.transformations.dense import as_one_episode
from rlds_kit.transformations.fields import count_steps, leaves, paths_of
from rlds_kit.transformations.segments import OBSERVATION_VALID

_PART_BYTES: Final = 16 * 2**20
"""Bytes of steps that are counted together: so many that NumPy does most of the work."""
_MAX_ROWS: Final = 2**16
_NOT_VALUES: Final = frozenset([*FLAGS, STEP_INDEX, OBSERVATION_VALID])


def episode_statistics(
    episodes: tf.data.Dataset,
    fields: Sequence[str] | None = None,
    *,
    quantile_elements: int = QUANTILE_ELEMENTS,
) -> EpisodeStatistics:
    """Counts values, mean, standard deviation, bounds and quantiles of each element of each field, in one pass.

    Action, reward and discount of the last step of an episode, and of a step after which steps were left out, are
    undefined and not counted; nor are observations where `observation_valid` is False. NaN is left out and counted.
    Sums are computed in float64 whatever the dtype of a field. The result can be merged with that of other episodes,
    and written as JSON.

    Quantiles are exact up to 4096 different values of an element. Then memory stays bounded, at 64 KiB for each
    element, and the error relative to the quantile is stated, about 0.4 % for a normal distribution around zero.
    Minimum and maximum are always exact.

    Args:
      episodes: in RLDS form, with steps in either form. One pass over them is made, eagerly. Takes about 100 MiB of
        memory, in addition to that of the pipeline.
      fields: paths such as "observation/position"; "observation" selects all fields in it. None: every field of numbers
        or bools of fixed shape, except flags and `step_index`.
      quantile_elements: the largest number of elements of a field with quantiles; images usually have more.

    Returns:
      The statistics of each field, of the lengths of episodes and, if there are rewards, of returns. Episodes without
      steps are not counted.

    Raises:
      TypeError: a field that was named does not hold numbers or bools.
      ValueError: there are no such fields, no steps, or infinitely many; or a shape is not fixed.

    >>> steps = {"reward": tf.constant([1.0, 2.0, 0.0]), "is_last": tf.constant([False, False, True])}
    >>> statistics = episode_statistics(tf.data.Dataset.from_tensors({"steps": steps}))
    >>> statistics["reward"].mean.item(), statistics.returns["reward"].max.item(), statistics.length.mean.item()
    (1.5, 3.0, 3.0)
    """
    specs = _specs_of_values(episodes)
    if episodes.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError("expected finitely many episodes, got a dataset that repeats for ever; use `episodes.take(n)`")
    if fields is None:
        paths = [path for path, spec in specs.items() if _is_counted(path, spec)]
    else:
        paths = [_checked(path, specs[path]) for path in paths_of(specs, fields)]
    needed = _with_rewards(paths, specs)
    parts = _parts(episodes, needed, _rows_in_part(needed, specs))
    counted = gather_statistics(parts, quantile_elements=quantile_elements)
    return EpisodeStatistics({path: counted[path] for path in paths}, counted.length, counted.returns)


def _specs_of_values(episodes: tf.data.Dataset) -> dict[str, Any]:
    """The spec of a single step's value of each field, by path."""
    spec = episodes.element_spec
    if not isinstance(spec, Mapping) or STEPS not in spec:
        what = f"the fields {', '.join(spec)}" if isinstance(spec, Mapping) else f"elements {spec}"
        raise ValueError(f"expected episodes with a field {STEPS!r}, got a dataset with {what}")
    steps = spec[STEPS]
    if isinstance(steps, tf.data.DatasetSpec):
        return leaves(steps.element_spec)
    return {path: tf.TensorSpec(each.shape[1:], each.dtype) for path, each in leaves(steps).items()}


def _is_number(spec: Any) -> bool:
    """Whether something is a tensor of real numbers or bools."""
    return isinstance(spec, tf.TensorSpec) and (spec.dtype.is_floating or spec.dtype.is_integer or spec.dtype.is_bool)


def _is_counted(path: str, spec: Any) -> bool:
    return path not in _NOT_VALUES and _is_number(spec) and bool(spec.shape.is_fully_defined())


def _checked(path: str, spec: Any) -> str:
    if not _is_number(spec):
        raise TypeError(f"{path}: expected numbers or bools, got {spec}; leave the field out")
    if not spec.shape.is_fully_defined():
        raise ValueError(
            f"{path}: expected values of one shape, got {spec.shape}. If all are in fact of one shape, say so with "
            "`tf.ensure_shape`; else leave the field out"
        )
    return path


def _with_rewards(paths: Sequence[str], specs: Mapping[str, Any]) -> list[str]:
    rewards = [path for path in specs if path.partition("/")[0] == REWARD and _is_counted(path, specs[path])]
    return list(dict.fromkeys([*paths, *rewards]))


def _rows_in_part(paths: Sequence[str], specs: Mapping[str, Any]) -> int:
    row_bytes: int = sum(math.prod(specs[path].shape) * specs[path].dtype.size for path in paths)
    return max(1, min(_MAX_ROWS, _PART_BYTES // max(1, row_bytes)))


def _parts(episodes: tf.data.Dataset, paths: Sequence[str], rows: int) -> Iterator[Rows]:
    """The steps of all episodes in order, that many at a time, with the number of their episode."""

    def part(number: tf.Tensor, steps: Mapping[str, Any]) -> Any:
        fields = leaves(steps)
        beside = {name: steps[name] for name in (STEP_INDEX, OBSERVATION_VALID) if name in steps}
        return tf.fill([count_steps(steps)], number), {path: fields[path] for path in paths}, beside

    if isinstance(episodes.element_spec[STEPS], tf.data.DatasetSpec):
        parts = episodes.enumerate().flat_map(
            lambda number, episode: episode[STEPS].batch(rows).map(lambda steps: part(number, steps))
        )
    else:
        parts = episodes.enumerate().map(lambda number, episode: part(number, as_one_episode(episode[STEPS])))
    for number, fields, beside in parts.rebatch(rows).prefetch(2).as_numpy_iterator():
        yield Rows(number, fields, beside.get(STEP_INDEX), beside.get(OBSERVATION_VALID))
