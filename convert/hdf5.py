"""Opens HDF5 files from untrusted sources, and no other files that they refer to."""

import contextlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError, RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.convert.decoded_size import LARGE, require_plausible

_BROKEN: Final = (KeyError, ValueError, TypeError, RuntimeError, OSError, OverflowError, MemoryError)
_TEXTS_AT_ONCE: Final = 256
_NUMBERS: Final = "biuf"
_MOST_TYPES: Final = 8
_TYPES: Final[list[tuple[Any, np.dtype[Any], Any]]] = []
"""Types in files, their dtypes, and the types in memory."""


def library() -> Any:
    """Imports h5py.

    Raises:
      MissingExtraError: it is not installed.
    """
    known = sys.modules.get("h5py")
    if known is not None:  # nearly always
        return known
    with needs("compat"):
        import h5py
    return h5py


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Opens a file to read.

    Raises:
      FormatError: it is not HDF5, or it is truncated or inconsistent.
      MissingExtraError: h5py is not installed.
    """
    h5py = library()
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected an HDF5 file, but there is none")
    try:
        file = h5py.File(path, "r")
    except (OSError, RuntimeError) as error:
        raise FormatError(f"{path}: expected an HDF5 file: {error}") from error
    with file:
        try:
            yield file
        except RldsKitError:
            raise
        except _BROKEN as error:  # the errors of h5py for files with inconsistent structures
            raise FormatError(f"{path}: expected data in the layout of its format: {error}") from error


def children(group: Any, place: str) -> dict[str, Any]:
    """The groups and datasets in a group, by name.

    Raises:
      FormatError: one is in another file, or claims to be much larger than the file.
    """
    return {name: child(group, name, place) for name in group}


def child(group: Any, name: str | bytes, place: str) -> Any:
    """One group or dataset in a group; h5py returns bytes for a name that is not UTF-8.

    Raises:
      As `children`.
    """
    h5py, found = library(), _opened_in(group, name, place)
    return h5py.Dataset(found) if isinstance(found, h5py.h5d.DatasetID) else h5py.Group(found)


def column(group: Any, name: str, place: str) -> np.ndarray:
    """All values of a dataset in a group. There may be five small ones per episode, so this opens it directly.

    Raises:
      FormatError: it is no array; and as `children`.
    """
    h5py, found = library(), _opened_in(group, name, place)
    is_data = isinstance(found, h5py.h5d.DatasetID)
    shape = found.shape if is_data else None
    if shape and 0 not in shape:
        dtype, in_memory = _types_of(found)
        if dtype.kind in _NUMBERS:
            values = np.empty(shape, dtype)
            found.read(h5py.h5s.ALL, h5py.h5s.ALL, values, in_memory)
            return values
    stored = h5py.Dataset(found)[()] if is_data else found
    if not isinstance(stored, np.ndarray):
        raise FormatError(f"{place}/{name}: expected a value for every step, got {stored!r}")
    return stored


def attributes(group: Any) -> dict[str, Any]:
    """The attributes of a group in the order of `group.attrs`; reads numbers in a third of the time."""
    h5a, found = library().h5a, {}
    for name in group.attrs:
        try:
            stored = h5a.open(group.id, name.encode())
        except UnicodeEncodeError:  # a name that is no UTF-8
            stored = None
        number = None if stored is None or stored.shape != () else _number(stored)
        found[name] = group.attrs[name] if number is None else number
    return found


def _number(stored: Any) -> Any:
    """The value of a low-level attribute of shape (); None: it is no number."""
    dtype, in_memory = _types_of(stored)
    if dtype.kind not in _NUMBERS:
        return None
    value = np.empty((), dtype)
    stored.read(value, in_memory)
    return value[()]


def _types_of(stored: Any) -> tuple[np.dtype[Any], Any]:
    """The dtype of a low-level dataset or attribute, and the type in memory that h5py makes of it for each read.

    Those that came before take less time: an episode may have a dozen values, most of them of two or three types.
    """
    found = stored.get_type()
    for known, dtype, in_memory in _TYPES:
        if found.equal(known):
            return dtype, in_memory
    made: np.dtype[Any] = stored.dtype
    if made.kind not in _NUMBERS or len(_TYPES) == _MOST_TYPES:
        return made, None
    in_memory = library().h5t.py_create(made)
    _TYPES.append((found.copy(), made, in_memory))
    return made, in_memory


def _opened_in(group: Any, name: str | bytes, place: str) -> Any:
    """A low-level object of h5py for a group or dataset. Errors as in `children`."""
    h5py = library()
    stored = name if isinstance(name, bytes) else name.encode()
    place = f"{place}/{stored.decode(errors='replace')}"
    if group.id.links.get_info(stored).type != h5py.h5l.TYPE_HARD:  # a fifth of the time of `get`
        raise FormatError(f"{place}: expected data, got a link, which is not followed")
    try:
        found = h5py.h5d.open(group.id, stored)
    except (KeyError, ValueError):  # it is no dataset
        found = h5py.h5o.open(group.id, stored)
    if isinstance(found, h5py.h5d.DatasetID):
        _require_own(found, place)
    elif not isinstance(found, h5py.h5g.GroupID):
        raise FormatError(f"{place}: expected data or a group, got {found!r}")
    return found


def _require_own(stored: Any, place: str) -> None:
    created = stored.get_create_plist()
    if created.get_layout() == library().h5d.VIRTUAL or created.get_external_count():
        raise FormatError(f"{place}: expected data, got a reference to another file, which is not followed")
    if math.prod(stored.shape or ()) * stored.get_type().get_size() <= LARGE:  # nearly always
        return
    size = library().Dataset(stored).nbytes
    if not 0 <= size <= LARGE:  # the stored size takes long to find
        require_plausible(size, stored.get_storage_size(), place)


def texts(dataset: Any, place: str) -> list[str]:
    """The elements of a dataset of text. Several may share their bytes in the file, so its size does not limit theirs.

    Raises:
      FormatError: together they are much larger than the file.
    """
    found: list[str] = []
    size, stored = 0, dataset.file.id.get_filesize()
    for begin in range(0, len(dataset), _TEXTS_AT_ONCE):
        part = dataset.asstr()[begin : begin + _TEXTS_AT_ONCE].tolist()
        size += sum(map(len, part))
        require_plausible(size, stored, place)
        found += part
    return found
