"""`dataset.json` of an edited dataset: the descriptions of its sources, and its lineage.

`"lineage": {"verb", "arguments", "version", "sources": [{"name", "digest", "lineage"}]}`: the lineage of a
source is included if it has one, so the whole history is recorded, also that of merges. Digests are content digests in
hexadecimal.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit._version import __version__
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import directory as directories
from rlds_kit.tools.upkeep.source import Source, shard_headers

LINEAGE: Final = "lineage"
_NO_ENTRIES: Final = pb.Value(dict=pb.Entries())


def lineage(verb: str, arguments: Mapping[str, Any], sources: Sequence[Source]) -> dict[str, Any]:
    """How a dataset is made.

    Args:
      verb: "merge", "filter", ...
      arguments: of the verb, as JSON values.
      sources: datasets that it is made from.
    """
    return {
        "verb": verb,
        "arguments": dict(arguments),
        "version": __version__,
        "sources": [_source(source) for source in sources],
    }


def _source(source: Source) -> dict[str, Any]:
    earlier = {LINEAGE: source.description[LINEAGE]} if LINEAGE in source.description else {}
    return {"name": source.name, "digest": source.digest.hex(), **earlier}


def describe(directory: Path, sources: Sequence[Source], spec: specs.Dict, made: Mapping[str, Any]) -> None:
    """Writes dataset.json.

    Args:
      directory: of the new dataset.
      sources: datasets that it was made from.
      spec: the declared fields.
      made: its lineage.

    Raises:
      OSError: it cannot be written.
    """
    header = next((header for _, header in shard_headers(sources)), pb.ShardHeader())
    if not header.HasField("metadata"):
        header = pb.ShardHeader(metadata=_NO_ENTRIES, environment=_NO_ENTRIES)
    directories.prepare(directory, "append", spec, _about(sources), header)
    # Entries of other programs in the first source's file are preserved.
    directories.rewrite_description(
        directory, {**sources[0].description, **directories.description(directory), LINEAGE: made}
    )


def note(directory: Path, made: Mapping[str, Any]) -> None:
    """Adds the lineage to the existing dataset.json of a new dataset.

    Raises:
      OSError: it cannot be written.
    """
    directories.rewrite_description(directory, {**directories.description(directory), LINEAGE: made})


def _about(sources: Sequence[Source]) -> dict[str, str]:
    """Name and description if all sources have the same; all citations; all licences, unless one has none."""
    texts = {key: [str(source.description.get(key) or "") for source in sources] for key in directories.ABOUT}
    same = {key: values[0] if len(set(values)) == 1 else "" for key, values in texts.items()}
    citations = [citation for citation in dict.fromkeys(texts["citation"]) if citation]
    licences = dict.fromkeys(texts["licence"])
    return {
        **same,
        "citation": "\n\n".join(citations),
        "licence": "" if "" in licences else " AND ".join(licences),  # the SPDX expression for several licences
    }
