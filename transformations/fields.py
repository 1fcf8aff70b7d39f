"""Checks and helpers for the fields of steps: required ones, reserved ones, numbers of rows, nests."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import tensorflow as tf

SAME_ROWS: Final = (
    "expected as many rows in each field as there are steps. Data that hold one observation more than actions need a "
    "last row of zeros in action, reward and discount. Rows of"
)


def require_fields(steps: Mapping[str, Any], *fields: str) -> None:
    """Checks that steps have fields.

    Raises:
      ValueError: they lack one.
    """
    missing = [field for field in fields if field not in steps]
    if missing:
        raise ValueError(f"expected steps with the fields {missing}; these have only {sorted(steps)}")


def refuse_fields(steps: Mapping[str, Any], *fields: str) -> None:
    """Checks that steps lack the fields that a function adds, because it would overwrite them.

    Raises:
      ValueError: they have one.
    """
    present = [field for field in fields if field in steps]
    if present:
        raise ValueError(f"the steps already have fields {present}, which would be overwritten; rename or drop them")


def require_when_run(value: tf.Tensor, condition: tf.Tensor, *explanation: Any) -> tf.Tensor:
    """The value itself; the graph raises an error when it runs if the condition is false.

    Operations on the value wait for the check, so that its error comes first.

    Raises:
      tf.errors.InvalidArgumentError: the condition is false.
    """
    with tf.control_dependencies([tf.debugging.Assert(condition, explanation, summarize=99)]):
        return tf.identity(value)


def count_rows(tensor: tf.Tensor) -> tf.Tensor:
    """Counts the rows of a tensor, int64 of shape []."""
    return tf.size(tensor, tf.int64) if tensor.shape.rank == 1 else tf.shape(tensor, tf.int64)[0]


def count_steps(steps: Mapping[str, Any]) -> tf.Tensor:
    """Counts the rows of dense steps, int64 of shape [].

    Raises:
      tf.errors.InvalidArgumentError: fields differ in length.
    """
    by_path = leaves(steps)
    if all(leaf.shape.rank is not None and leaf.shape[0] is not None for leaf in by_path.values()):
        return count_rows(next(iter(by_path.values())))
    rows = tf.stack([count_rows(leaf) for leaf in by_path.values()])
    is_same = tf.reduce_all(rows == rows[0])
    return require_when_run(rows[0], is_same, f"{SAME_ROWS} {', '.join(by_path)}:", rows)


def leaves(tree: Any) -> dict[str, Any]:
    """The tensors, or specs, of a nest of dicts and tuples, by path.

    >>> leaves({"observation": {"camera": 1, "arm": (2, 3)}})
    {'observation/arm/0': 2, 'observation/arm/1': 3, 'observation/camera': 1}
    """
    return dict(zip(tf.nest.flatten(_paths(tree, "")), tf.nest.flatten(tree), strict=True))


def with_leaves(tree: Any, new: Mapping[str, Any]) -> Any:
    """A copy of a nest with some of its leaves replaced, by path.

    >>> with_leaves({"observation": {"camera": 1, "arm": (2, 3)}}, {"observation/arm/1": 4})
    {'observation': {'camera': 1, 'arm': (2, 4)}}
    """
    return tf.nest.pack_sequence_as(tree, [new.get(path, leaf) for path, leaf in leaves(tree).items()])


def paths_of(known: Iterable[str], fields: Iterable[str]) -> list[str]:
    """The leaves of fields; a path to a nest selects all leaves in it.

    Raises:
      TypeError: `fields` is one string.
      ValueError: there is no such field.

    >>> paths_of(["action", "observation/arm", "observation/camera"], ["observation"])
    ['observation/arm', 'observation/camera']
    """
    if isinstance(fields, str):
        raise TypeError(f"expected a list of fields, got one string; write [{fields!r}]")
    known = list(known)
    found: dict[str, None] = {}
    for field in fields:
        paths = [path for path in known if path == field or path.startswith(f"{field}/")]
        if not paths:
            raise ValueError(f"there is no field {field!r}; there are {', '.join(sorted(known)) or 'none'}")
        found |= dict.fromkeys(paths)
    return list(found)


def _paths(tree: Any, path: str) -> Any:
    prefix = f"{path}/" if path else ""
    if isinstance(tree, Mapping):
        return {key: _paths(value, f"{prefix}{key}") for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_paths(value, f"{prefix}{index}") for index, value in enumerate(tree)]
    return path


def gather_rows(tree: Any, rows: tf.Tensor) -> Any:
    """Rows of every tensor by number: `[T, ...]` and `[N]` or `[N, L]` give `[N, ...]` or `[N, L, ...]`."""
    return tf.nest.map_structure(lambda leaf: tf.gather(leaf, rows), tree)


def zero_unless(mask: tf.Tensor, tree: Any) -> Any:
    """Every tensor with zeros, False or empty text where the mask, which covers its leading dimensions, is False."""
    return tf.nest.map_structure(lambda leaf: tf.where(spread(mask, leaf), leaf, tf.zeros([], leaf.dtype)), tree)


def spread(tensor: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """A tensor with dimensions of size 1 appended, so that it broadcasts with one of more dimensions.

    Raises:
      ValueError: it has more dimensions than the other.
    """
    if tensor.shape.rank > like.shape.rank:
        raise ValueError(f"expected the leading dimensions of {like.shape}, got {tensor.shape}")
    return tensor[(..., *[tf.newaxis] * (like.shape.rank - tensor.shape.rank))]


def latest_true(flags: tf.Tensor) -> tf.Tensor:
    """Returns for each row the number of the last row up to it whose flag is set, -1 if there is none; `[T]` int64.

    >>> latest_true(tf.constant([False, True, False, True])).numpy()
    array([-1,  1,  1,  3])
    """
    numbers = tf.concat([tf.constant([-1], tf.int64), tf.where(flags)[:, 0]], 0)
    return tf.gather(numbers, tf.cumsum(tf.cast(flags, tf.int64)))
