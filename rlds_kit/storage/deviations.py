"""Values of declared fields that do not match the declaration: recorded unchanged, with one warning for each field."""

import warnings
from typing import Final

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError

ADVICE: Final = (
    "It is recorded exactly as it came, and this is reported once for the field; `rlds-kit verify` and `rlds-kit lint` "
    "list it. Correct the space, or put a wrapper between environment and logger that converts the value, such as "
    "gymnasium.wrappers.DtypeObservation or TransformReward; with strict=True it is an error."
)


class Deviations:
    """The fields of a recording with values that do not match their declaration.

    Args:
      strict: whether such values are an error.

    Attributes:
      fields: their names; there are no further warnings for them.

    >>> found = Deviations(strict=True)
    >>> found.check("reward", specs.Array((), "float64"), [1.0])
    Traceback (most recent call last):
    rlds_kit.base.errors.SpecError: reward: expected float64 (), got list of 1
    """

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self.fields: set[str] = set()
        self._pending: list[str] = []

    def check(self, name: str, spec: specs.Spec, value: object) -> None:
        """Records whether a value of a field does not match its spec.

        Raises:
          SpecError: it does not match, and `strict` is set.
        """
        found = specs.problems(spec, value, name)
        if not found:
            return
        if self._strict:
            raise SpecError("\n".join(map(str, found)))
        self.fields.add(name)
        self._pending.append("; ".join(map(str, found)))

    def warn(self) -> None:
        """Issues the pending warnings. Called after the row was added, because a warning may be raised as an error."""
        while self._pending:
            warnings.warn(f"{self._pending.pop(0)}. {ADVICE}", UserWarning, stacklevel=2)

    def has_pending(self) -> bool:
        """Whether there are pending warnings."""
        return bool(self._pending)
