"""Exceptions, one class for each cause; every message states what was expected, what came, where, and how to fix it."""

from rlds_kit import riegeli


class RldsKitError(Exception):
    """The base class of all errors that rlds_kit raises."""


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
    """A value of a declared field does not match its spec."""


class FormatError(RldsKitError, ValueError):
    """A file does not have the expected format, or has a newer major version."""


class DamagedError(RldsKitError, riegeli.errors.DamagedError):
    """Raised if stored bytes do not match their checksum, or are missing."""


class DamageWarning(UserWarning):
    """Issued if opening a dataset skipped damaged bytes; episodes completely inside them are not listed."""


class LossWarning(DamageWarning):
    """Files that their writers had closed are missing or incomplete, for example because a copy was interrupted."""


class RecordingError(RldsKitError, RuntimeError):
    """Raised if recording stopped; the message has the numbers of stored and lost steps."""


class DatasetExistsError(RldsKitError, FileExistsError):
    """A dataset already exists and the mode does not allow that."""


class NotADatasetError(RldsKitError, FileNotFoundError):
    """Raised if there is no dataset at a path."""
