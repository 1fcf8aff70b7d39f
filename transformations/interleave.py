"""Mixes datasets in given proportions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import tensorflow as tf

from rlds_kit.transformations.fields import leaves

_Datasets: TypeAlias = Mapping[str, tf.data.Dataset] | Sequence[tf.data.Dataset]
_Weights: TypeAlias = Mapping[str, float] | Sequence[float]

_BLOCK: Final = 1024
"""Turns that are planned together."""


def interleave(
    datasets: _Datasets, weights: _Weights, *, seed: int | None = None, stop_on_empty: bool = True
) -> tf.data.Dataset:
    """Takes elements from several datasets in proportion to weights.

    Without a seed the order is fixed and the proportions are as exact as possible: it is the order of seats in the
    method of Webster and Sainte-Lague, where element `j` of a dataset of weight `w` comes at time `(j + 1/2) / w`. If
    weights are whole numbers with sum `s`, each dataset has exactly its share after every `s` elements. With a seed,
    the dataset of each element is random.

    Args:
      datasets: of episodes or steps, all with the same fields; by name, or in a list.
      weights: above 0, for each dataset; they need not sum to 1.
      seed: for the random order; None: the fixed order.
      stop_on_empty: whether to stop when a dataset has no more elements, so that proportions stay exact. If not, the
        others continue to their last elements.

    Returns:
      The elements, each dataset's in its own order.

    Raises:
      TypeError: datasets have different fields; the message names the first that differs, and both types.
      ValueError: there are no datasets, one is known to be empty, or the weights do not fit.

    >>> ones, twos = tf.data.Dataset.from_tensors(1).repeat(), tf.data.Dataset.from_tensors(2).repeat()
    >>> [int(one) for one in interleave([ones, twos], [3, 1]).take(8)]
    [1, 1, 2, 1, 1, 1, 2, 1]
    """
    named = _named(datasets)
    shares = _shares(named, weights)
    _check_same_fields(named)
    sources = list(named.values())
    if seed is not None:
        return tf.data.Dataset.sample_from_datasets(
            sources, [*shares.values()], seed=seed, stop_on_empty_dataset=stop_on_empty
        )
    turns = _turns([*shares.values()])
    return tf.data.Dataset.choose_from_datasets(sources, turns, stop_on_empty_dataset=stop_on_empty)


def _turns(shares: list[float]) -> tf.data.Dataset:
    """The numbers of the datasets in order, without end."""
    rates = tf.constant(shares, tf.float64)

    def block(number: tf.Tensor) -> tf.Tensor:
        # Element j of a dataset is due at time (j + 1/2) / rate: which ones are due from one multiple of _BLOCK on?
        time = tf.cast(tf.stack([number, number + 1]) * _BLOCK, tf.float64)[:, tf.newaxis]
        begin, end = tf.unstack(tf.cast(tf.math.ceil(time * rates - 0.5), tf.int64))
        elements = tf.ragged.range(begin, end)
        source = elements.value_rowids()
        due = (tf.cast(elements.values, tf.float64) + 0.5) / tf.gather(rates, source)
        return tf.gather(source, tf.argsort(due, stable=True))

    return tf.data.Dataset.counter().map(block).unbatch()


def _named(datasets: _Datasets) -> dict[str, tf.data.Dataset]:
    if isinstance(datasets, tf.data.Dataset):
        raise TypeError("expected several datasets, by name or in a list, got one dataset")
    if not isinstance(datasets, Mapping):
        datasets = {str(number): dataset for number, dataset in enumerate(datasets)}
    if not datasets:
        raise ValueError("expected at least one dataset, got none")
    for name, dataset in datasets.items():
        if dataset.cardinality() == 0:
            raise ValueError(f"dataset {name} is empty; leave it out")
    return dict(datasets)


def _shares(datasets: Mapping[str, tf.data.Dataset], weights: _Weights) -> dict[str, float]:
    """The weight of each dataset, divided by their sum."""
    if not isinstance(weights, Mapping):
        weights = {str(number): weight for number, weight in enumerate(weights)}
    if weights.keys() != datasets.keys():
        raise ValueError(
            f"expected a weight for each of the datasets {', '.join(datasets)}, got weights for {', '.join(weights)}"
        )
    wrong = {name: weight for name, weight in weights.items() if not (math.isfinite(weight) and weight > 0)}
    if wrong:
        raise ValueError(f"expected weights above 0, got {wrong}; leave out datasets that get no turn")
    total = math.fsum(weights.values())
    return {name: weights[name] / total for name in datasets}


def _check_same_fields(datasets: Mapping[str, tf.data.Dataset]) -> None:
    (first, expected), *others = ((name, _fields(dataset.element_spec)) for name, dataset in datasets.items())
    for name, fields in others:
        for path in [*expected, *fields]:
            one, other = expected.get(path), fields.get(path)
            if one is None or other is None or not one.is_compatible_with(other):
                what = f"field {path!r}" if path else "elements"
                raise TypeError(
                    f"datasets {first} and {name} differ in {what}: {_describe(one)} in {first}, {_describe(other)} in "
                    f"{name}. Bring them to the same fields with `map` first"
                )


def _fields(spec: Any) -> dict[str, Any]:
    """Specs by path, with those of nested datasets."""
    fields: dict[str, Any] = {}
    for path, one in leaves(spec).items():
        if isinstance(one, tf.data.DatasetSpec):
            fields |= {f"{path}/{inner}": each for inner, each in _fields(one.element_spec).items()}
        else:
            fields[path] = one
    return fields


def _describe(spec: Any) -> str:
    if spec is None:
        return "missing"
    return f"{spec.dtype.name} {spec.shape}" if isinstance(spec, tf.TensorSpec) else str(spec)
