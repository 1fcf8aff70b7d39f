"""dm_env specs as specs, and back."""

import typing

from dm_env import specs

from rlds_kit.base.errors import SpecError
from rlds_kit.spec import dtypes, limits
from rlds_kit.spec.describe import describe_spec
from rlds_kit.spec.problem import at_entry, at_item, at_key
from rlds_kit.spec.tree import NONE, Any, Array, Bytes, Dict, List, Spec, Text, Tuple

# dm_env has no types of its own, and its specs nest freely.
DmEnvSpec: typing.TypeAlias = typing.Any


def from_dm_env(spec: DmEnvSpec, place: str = "spec") -> Spec:
    """The spec of what a dm_env spec describes, bounds and name included.

    A `StringArray` of shape `()` becomes `Text` or `Bytes`; of another shape it becomes `Any`, because its object
    arrays cannot be recorded, and the data show what the environment returns instead. None is always None.

    Args:
      spec: a dm_env spec, or dicts, lists and tuples of them, or None.
      place: path of the field, for errors.

    Raises:
      SpecError: another class, or a dict with keys that are not strings; the message names its place.
      UnsupportedTypeError: a dtype that cannot be recorded.

    >>> from_dm_env(specs.DiscreteArray(3, name="move"))
    Array((), int32, name='move', minimum=0, maximum=2, num_values=3)
    """
    match spec:
        case None:
            return NONE
        case specs.Array():
            return _leaf(spec, place)
        case dict():
            return Dict({_key(key, place): from_dm_env(each, at_key(place, key)) for key, each in spec.items()})
        case list():
            return List(tuple(from_dm_env(each, at_entry(place, index)) for index, each in enumerate(spec)))
        case tuple():
            return Tuple(tuple(from_dm_env(each, at_item(place, index)) for index, each in enumerate(spec)))
        case _:
            raise SpecError(
                f"{place}: expected a spec of dm_env.specs, or a dict, list or tuple of them, got "
                f"{type(spec).__module__}.{type(spec).__qualname__}. Wrap the environment so that it has one of these, "
                "or give the field a spec from rlds_kit.spec yourself."
            )


def to_dm_env(spec: Spec, place: str = "spec") -> DmEnvSpec:
    """The dm_env spec that `from_dm_env` turns into `spec`.

    One bound without the other is completed by the dtype's own, and categories that do not count from 0 become a
    `BoundedArray`: dm_env has no other.

    Raises:
      SpecError: dm_env has no such spec: an unknown length, or another kind; the message names its place.

    >>> to_dm_env(Array((2,), "float32", "speed"))
    Array(shape=(2,), dtype=dtype('float32'), name='speed')
    """
    if spec == NONE:
        return None
    match spec:
        case Array() if None not in spec.shape:
            return _array(spec)
        case Text(name):
            return specs.StringArray((), str, name or None)
        case Bytes(name):
            return specs.StringArray((), bytes, name or None)
        case Dict(fields):
            return {key: to_dm_env(field, at_key(place, key)) for key, field in fields.items()}
        case List(items):
            return [to_dm_env(item, at_entry(place, index)) for index, item in enumerate(items)]
        case Tuple(items):
            return tuple(to_dm_env(item, at_item(place, index)) for index, item in enumerate(items))
        case _:
            raise SpecError(f"{place}: dm_env has no spec for {describe_spec(spec)} ({spec!r})")


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise SpecError(f"{place}: expected strings as keys of a dict of specs, got {key!r}. Rename them in a wrapper.")
    return key


def _leaf(spec: specs.Array, place: str) -> Spec:
    name = spec.name or ""
    if isinstance(spec, specs.StringArray):
        return Any(name) if spec.shape else Text(name) if spec.string_type is str else Bytes(name)
    dtypes.name_of(spec.dtype, place)
    low, high = (spec.minimum, spec.maximum) if isinstance(spec, specs.BoundedArray) else (None, None)
    count = spec.num_values if isinstance(spec, specs.DiscreteArray) else None
    try:
        return Array(spec.shape, spec.dtype, name, low, high, count)
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from error


def _array(spec: Array) -> specs.Array:
    name = spec.name or None
    if spec.minimum is None and spec.maximum is None:
        return specs.Array(spec.shape, spec.dtype, name)
    if spec.shape == () and spec.num_values is not None and spec.minimum == 0 and spec.maximum == spec.num_values - 1:
        return specs.DiscreteArray(spec.num_values, spec.dtype, name)
    low = limits.bottom(spec.dtype) if spec.minimum is None else spec.minimum
    high = limits.top(spec.dtype) if spec.maximum is None else spec.maximum
    return specs.BoundedArray(spec.shape, spec.dtype, low, high, name)
