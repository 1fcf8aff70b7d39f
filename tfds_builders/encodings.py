"""Chooses how TFDS stores an array: in its own encoding if that is exact, else as the array's bytes.

A `tf.train.Example` supports only int64, float32 and bytes. Measured with TFDS 4.9.10 over all values of 16-bit dtypes
and random bits of the others: bool and all integers except uint64 are read back exactly, and so are float16 and float32
except NaNs without the quiet bit (signalling NaNs), which become quiet. float64 is rounded. uint64 from 2**63 on fails
without TensorFlow, and complex numbers and bfloat16 fail everywhere.

Readers that skip TFDS's decoding (dlimp, Octo, OpenVLA) get numbers for the first kind and strings for bytes.
"""

import itertools
import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rlds_kit import Episode
from rlds_kit.base.errors import SpecError
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.loader.episodes import WholeEpisodes
from rlds_kit.loader.source import Source
from rlds_kit.tfds_builders.example_digest import leaf_keys, value_at
from rlds_kit.tfds_builders.tfds_extra import tfds

Encoding: TypeAlias = Literal["none", "bytes", "zlib"]
"""The encodings, as `tfds.features.Encoding` spells them."""

_CHECKED: Final = {
    np.dtype(np.float16): (np.uint16, 0x7C00, 0x0200),
    np.dtype(np.float32): (np.uint32, 2**31 - 2**23, 2**22),
}
"""Dtypes that TFDS keeps except signalling NaNs: integers of their size, bits of the exponent, the quiet bit."""


class SkippedDecodingWarning(UserWarning):
    """Readers of a build that skip TFDS's decoding get strings in place of numbers; the message names the fields."""


def is_exact(dtype: np.dtype[Any], shape: Sequence[int | None]) -> bool:
    """Whether TFDS's own encoding of arrays of steps is exact, except for signalling NaNs.

    >>> is_exact(np.dtype("int64"), (3,)), is_exact(np.dtype("float64"), ())
    (True, False)
    """
    is_number = (dtype.kind in "biu" and dtype != np.uint64) or dtype in _CHECKED
    return is_number and None not in shape and 0 not in shape


def has_signalling_nan(values: Any) -> bool:
    """Whether an array of float16 or float32 has a NaN that TFDS's own encoding changes; False for other dtypes.

    >>> has_signalling_nan(np.array([0x7F800001], np.uint32).view(np.float32)), has_signalling_nan(np.float32("nan"))
    (True, False)
    """
    array = np.atleast_1d(np.asarray(values))
    if array.dtype.newbyteorder("=") not in _CHECKED:
        return False
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if not np.isnan(array).any():
        return False
    integer, exponent, quiet = _CHECKED[array.dtype]
    bits = array.view(integer)
    is_nan = (bits & exponent == exponent) & (bits & (2 * quiet - 1) != 0)
    return bool(np.any(is_nan & (bits & quiet == 0)))


def signalling_fields(episodes: Sequence[Episode], source: Source) -> frozenset[str]:
    """The paths of arrays in which TFDS's own encoding would change a value. Reads the float16 and float32 fields.

    Args:
      episodes: all of them are read.
      source: the fields.

    Raises:
      DamagedError: a step is damaged.
    """
    table = WholeEpisodes(episodes, source)
    table.layouts = {
        name: tuple(leaf for leaf in found if leaf.spec is not None and leaf.dtype.newbyteorder("=") in _CHECKED)
        for name, found in table.layouts.items()
    }
    found: set[str] = set()
    if not any(table.layouts.values()):
        return frozenset()
    for number in range(len(table)):
        bounds = table.bounds(number).tolist()
        for begin, end in itertools.pairwise(bounds):
            stretch = table.stretch(number, range(begin, end))
            found |= {leaf.path for leaf, (values, _) in stretch.items() if has_signalling_nan(values)}
    return frozenset(found)


def require_arrays(name: str, compress: Collection[str], arrays: Iterable[str]) -> None:
    """Raises an error for names of fields to compress that have no array to compress.

    Raises:
      SpecError: there is one.
    """
    paths = sorted(arrays)
    for each in compress:
        if not any(is_below(path, each) for path in paths):
            raise SpecError(
                f"{name}: compress: expected the names of arrays, got {each!r}; there are {', '.join(paths)}. Images "
                "are compressed as PNG already, and TFDS does not compress text"
            )


def is_below(path: str, name: str) -> bool:
    """Whether a path is a field of that name, or below it."""
    return path == name or path.startswith(f"{name}/")


def strings_when_skipped(features: Any) -> dict[str, str]:
    """The arrays of steps that are stored as their bytes, and the dtype of each, by path.

    Args:
      features: of an episode.
    """
    steps = features[STEPS].feature
    named = (("/".join(keys), value_at(steps, keys)) for keys in leaf_keys(steps))
    return {path: str(feature.np_dtype) for path, feature in named if encoding_of(feature) == "bytes"}


def strings_notice(features: Any) -> str:
    """Describes, for users who skip decoding, which numbers are stored as strings; empty if none are.

    Args:
      features: of an episode.
    """
    found = strings_when_skipped(features)
    listed = ", ".join(f"{path} ({dtype})" for path, dtype in found.items())
    return listed and (
        f"TFDS's own encoding would change values of {listed}, so they are stored as bytes. Readers that decode get "
        'them exactly, but readers that skip decoding (dlimp, Octo, OpenVLA: decoders={"steps": SkipDecoding()}) get '
        "strings; record such fields as float32 or int64, or leave them out with `select`"
    )


def warn_of_strings(name: str, features: Any) -> None:
    """Warns once of a build that has a notice.

    Args:
      name: of what is built.
      features: of its episodes.
    """
    if notice := strings_notice(features):
        warnings.warn(f"{name}: {notice}", SkippedDecodingWarning, stacklevel=3)


def with_bytes(features: Any, paths: Collection[str], above: str = "") -> Any:
    """The features of an episode or of its steps, with the arrays at some paths stored as their bytes."""
    if isinstance(features, tfds.features.FeaturesDict):
        named = {name: with_bytes(each, paths, f"{above}{name}/") for name, each in features.items()}
        return tfds.features.FeaturesDict(named)
    if isinstance(features, tfds.features.Dataset):
        return tfds.features.Dataset(with_bytes(features.feature, paths, above))
    if above.removesuffix("/") not in paths:
        return features
    return tfds.features.Tensor(shape=features.shape, dtype=features.np_dtype, encoding="bytes")


def encoding_of(feature: Any) -> str:
    """The encoding of a `Tensor`: "none", "bytes" or "zlib"; empty for other features."""
    return str(feature.to_proto().tensor.encoding) if type(feature) is tfds.features.Tensor else ""
