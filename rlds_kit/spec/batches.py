"""How several values of one spec are batched, as Gymnasium's `batch_space` and `concatenate` do it."""

from functools import lru_cache

from rlds_kit.spec.tree import Any, Array, Dict, Optional, Sequence, Spec, Tuple


@lru_cache(maxsize=1024)
def stacked(spec: Spec) -> Spec:
    """The spec of any number of values batched into one.

    Arrays gain a leading dimension of unknown length; dicts and tuples are batched item by item; what cannot share one
    array is a tuple of values.

    >>> stacked(Array((3,), "float32"))
    Array((None, 3), float32)
    """
    if isinstance(spec, Array):
        return Array((None, *spec.shape), spec.dtype, spec.name, spec.minimum, spec.maximum, spec.num_values)
    if isinstance(spec, Dict):
        return Dict({key: stacked(field) for key, field in spec.fields.items()})
    if isinstance(spec, Tuple):
        return Tuple(tuple(stacked(item) for item in spec.items))
    if isinstance(spec, Optional | Any):
        return Any()  # Gymnasium has neither, so there is no rule
    return Sequence(spec)


def lengths(spec: Spec, value: object) -> set[int]:
    """How many values `value` holds, by each of its parts; more than one number means that they disagree.

    `value` must fit `spec`, and `spec` must come from `stacked`.
    """
    if isinstance(spec, Array):
        return {len(value)}  # type: ignore[arg-type]  # it fits, so it is an array
    if isinstance(spec, Dict):
        return {n for key, field in spec.fields.items() if key in value for n in lengths(field, value[key])}  # type: ignore[operator,index]  # it fits, so it is a dict
    if isinstance(spec, Tuple):
        return {n for item, part in zip(spec.items, value, strict=True) for n in lengths(item, part)}  # type: ignore[call-overload]  # it fits, so it is a tuple
    return {len(value)} if isinstance(value, tuple) and isinstance(spec, Sequence) else set()
