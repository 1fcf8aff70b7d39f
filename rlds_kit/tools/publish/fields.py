"""The leaves of a dataset's spec, as cards and catalogues describe them."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.spec.describe import shape_text
from rlds_kit.storage import leaf as leaves


class Field(NamedTuple):
    """One leaf of the steps.

    Attributes:
      path: that of its columns: "observation/pixels".
      spec: of its values, without the `Optional` around it.
      may_lack: whether a step may lack it.
    """

    path: str
    spec: specs.Spec
    may_lack: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers."""
        return isinstance(self.spec, specs.Array) and self.spec.dtype.kind not in "US"

    @property
    def dtype(self) -> str:
        """The dtype in a word: "uint8", "text"."""
        match self.spec:
            case specs.Array(_, dtype):
                return dtype.name if dtype.isnative and dtype.kind not in "US" else dtype.str
            case specs.Text():
                return "text"
            case specs.Optional(specs.OneOf(())) | specs.OneOf(()):
                return "None"
            case specs.Any():
                return "any"
            case _:
                return specs.describe_spec(self.spec)

    @property
    def shape(self) -> str:
        """The shape as NumPy writes it, with ? for a dimension that varies; empty for values without a shape."""
        return shape_text(self.spec.shape) if isinstance(self.spec, specs.Array) else ""

    @property
    def bounds(self) -> str:
        """Smallest and largest value, both inclusive; empty without bounds."""
        if not isinstance(self.spec, specs.Array):
            return ""
        low, high = _number(self.spec.minimum, np.min), _number(self.spec.maximum, np.max)
        return f"[{low}, {high}]" if low or high else ""


def fields_of(spec: specs.Dict) -> tuple[Field, ...]:
    """The leaves of a spec, without containers.

    >>> fields_of(specs.Dict({"observation": specs.Dict({"speed": specs.Array((2,), np.float32)})}))
    (Field(path='observation/speed', spec=Array((2,), float32), may_lack=False),)
    """
    return tuple(_leaves("", spec, may_lack=False))


def _leaves(path: str, spec: specs.Spec, *, may_lack: bool) -> Iterator[Field]:
    match spec:
        case specs.Dict(parts):
            below = {leaves.escape(key): part for key, part in parts.items()}
        case specs.Tuple(items):
            below = {f"({number})": item for number, item in enumerate(items)}
        case specs.List(items):
            below = {f"[{number}]": item for number, item in enumerate(items)}
        case specs.Optional(inner) if inner != specs.OneOf(()):
            yield from _leaves(path, inner, may_lack=True)
            return
        case _:
            yield Field(path, spec, may_lack)
            return
    for element, part in below.items():
        yield from _leaves(f"{path}/{element}" if path else element, part, may_lack=may_lack)


def _number(bound: np.ndarray | None, extreme: Callable[[np.ndarray], Any]) -> str:
    """A bound as text; if bounds differ between elements, the outermost one."""
    if bound is None or not bound.size:
        return ""
    return f"{extreme(bound.astype(np.float64)):.6g}" if bound.dtype.kind not in "biu" else str(extreme(bound))
