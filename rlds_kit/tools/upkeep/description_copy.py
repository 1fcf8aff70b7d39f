"""The description of a copy of a dataset."""

from collections.abc import Mapping
from pathlib import Path

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import FormatError
from rlds_kit.base.whole_file import whole_file
from rlds_kit.spec.compatibility import compatible
from rlds_kit.spec.message import from_message
from rlds_kit.storage import directory as directories

_ABOUT = ("name", "description", "citation", "licence")


def copy_description(source: Path, destination: Path, headers: list[pb.ShardHeader]) -> str | None:
    """Copies dataset.json, or makes a new one from the first of `headers` and reports why."""
    reason = _unusable(source, headers)
    if reason is None:
        with whole_file(destination / directories.DESCRIPTION) as temporary:
            temporary.write_bytes((source / directories.DESCRIPTION).read_bytes())
        return None
    header = headers[0] if headers else pb.ShardHeader()
    if not header.HasField("metadata"):
        header = pb.ShardHeader(metadata=_NO_ENTRIES, environment=_NO_ENTRIES)
    declared = _declared(header)
    directories.prepare(destination, "append", declared, _about(source), header)
    return reason


_NO_ENTRIES = pb.Value(dict=pb.Entries())


def _unusable(source: Path, headers: list[pb.ShardHeader]) -> str | None:
    if not (source / directories.DESCRIPTION).exists():
        return f"there was no {directories.DESCRIPTION}"
    try:
        content = directories.description(source)
        spec = specs.from_json(content["spec"]) if "spec" in content else None
    except FormatError as error:
        return str(error)
    if content.get("format", "rlds_kit") != "rlds_kit" or content.get("version", 1) != 1:
        return f"{directories.DESCRIPTION} was of another format"
    if spec is not None and any(compatible(spec, _declared(header)) for header in headers):
        return f"the spec in {directories.DESCRIPTION} contradicted the shards"
    return None


def _about(source: Path) -> Mapping[str, str]:
    try:
        content = directories.description(source)
    except FormatError:
        return {}
    return {key: content[key] for key in _ABOUT if isinstance(content.get(key), str)}


def _declared(header: pb.ShardHeader) -> specs.Dict:
    spec = from_message(header.spec) if header.spec.WhichOneof("kind") else specs.Dict({})
    return spec if isinstance(spec, specs.Dict) else specs.Dict({})
