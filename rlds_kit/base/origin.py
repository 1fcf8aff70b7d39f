"""The origin of a converted dataset: `metadata["source"]`."""

from collections.abc import Mapping
from typing import Any, Final

SOURCE: Final = "source"
"""The key in the metadata of a dataset."""
LOSSY: Final = "lossy_at_the_source"
"""Losses in the source itself, from before the conversion, by field."""
BEFORE: Final = "before"
"""The source's own value under the key: its origin in turn, or any value that was recorded."""
_FORMAT: Final = "format"


def origin_of(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry that a conversion added; empty if there was none, or if the key has another use.

    >>> origin_of({"source": "our laboratory"})
    {}
    """
    found = metadata.get(SOURCE)
    is_ours = isinstance(found, Mapping) and _FORMAT in found and isinstance(found.get(LOSSY), Mapping)
    return found if is_ours and isinstance(found, Mapping) else {}


def lossy_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Losses in the source from before the conversion, by field."""
    return {str(name): str(how) for name, how in origin_of(metadata).get(LOSSY, {}).items()}


def without_origin(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata from before all conversions.

    >>> origin = {"format": "minari", "lossy_at_the_source": {}, "before": "our laboratory"}
    >>> without_origin({"a": 1, "source": origin})
    {'a': 1, 'source': 'our laboratory'}
    """
    plain = dict(metadata)
    while found := origin_of(plain):
        if BEFORE not in found:
            del plain[SOURCE]
            break
        plain[SOURCE] = found[BEFORE]
    return plain
