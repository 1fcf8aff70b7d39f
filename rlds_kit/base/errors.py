"""What can go wrong, one class a cause; every message says what was expected, what came, where, and what to do."""

from rlds_kit import riegeli


class RldsKitError(Exception):
    """Every error that rlds_kit itself raises."""


class UnsupportedTypeError(RldsKitError, TypeError):
    """A value of a type that cannot be recorded without changing it."""

    def __init__(self, place: str, value: object) -> None:
        what = f"dtype {value}" if hasattr(value, "itemsize") and hasattr(value, "kind") else type(value).__qualname__
        super().__init__(
            f"{place}: cannot record {what}. Recordable are NumPy arrays and scalars of bool, integer, float16/32/64, "
            "complex64/128, bfloat16 and fixed-width text, and Python bool, int, float, complex, str, bytes, None and "
            "dict, list and tuple of these. Convert it before recording, or leave it out."
        )
        self.place = place


class SpecError(RldsKitError, ValueError):
    """A value of a declared field does not fit its spec."""


class FormatError(RldsKitError, ValueError):
    """A file is not what it should be, or is of a newer major version."""


class DamagedError(RldsKitError, riegeli.errors.DamagedError):
    """Stored bytes do not match their checksum, or are missing."""


class DamageWarning(UserWarning):
    """Opening went over damaged bytes; episodes that were wholly in them are not listed."""


class LossWarning(DamageWarning):
    """Opening missed files that their writers had completed, or parts of them: a copy broke off, for instance."""


class RecordingError(RldsKitError, RuntimeError):
    """Recording stopped; the message says how many steps are kept and how many are lost."""


class DatasetExistsError(RldsKitError, FileExistsError):
    """A dataset is already there and the mode does not allow it."""


class NotADatasetError(RldsKitError, FileNotFoundError):
    """A path holds no dataset."""
