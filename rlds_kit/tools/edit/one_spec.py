"""The spec of a dataset that is put together from others."""

from collections.abc import Sequence

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import FormatError, SpecError
from rlds_kit.spec.compatibility import compatible
from rlds_kit.storage.directory import DESCRIPTION
from rlds_kit.tools.upkeep.source import Source, shard_headers


def one_spec(sources: Sequence[Source]) -> specs.Dict:
    """The declared spec that fits every shard: the first one that is as wide as all others.

    Raises:
      SpecError: there is none; names the field and both datasets.
      FormatError: the spec in a dataset.json cannot be read.
    """
    found = _declared(sources)
    for _, candidate in found:
        if not any(compatible(candidate, spec) for _, spec in found):
            return candidate
    for source, spec in found:
        if (problems := compatible(found[0][1], spec)) and compatible(spec, found[0][1]):
            lines = "\n".join(f"  {problem.place}: {problem.message}" for problem in problems)
            raise SpecError(f"{source.path} (the writer) does not fit {found[0][0].path} (the dataset):\n{lines}")
    # Each one fits the first or is wider, but there is no widest one that all others fit.
    raise SpecError(
        f"no spec of {', '.join(str(source.path) for source in sources)} is as wide as all others; merge two at a time "
        "to see which of them differ"
    )


def _declared(sources: Sequence[Source]) -> list[tuple[Source, specs.Dict]]:
    """What dataset.json and the shards of each source declare, each spec once; at least one."""
    declared = [(source, _described(source)) for source in sources]
    declared += [(source, _of_header(header)) for source, header in shard_headers(sources)]
    found: list[tuple[Source, specs.Dict]] = []
    for source, spec in declared:
        if spec is not None and spec not in [each for _, each in found]:
            found.append((source, spec))
    return found or [(sources[0], specs.Dict({}))]


def _described(source: Source) -> specs.Dict | None:
    """The spec in dataset.json, unless the shards contradict it: the file is only a description."""
    if "spec" not in source.description:
        return None
    try:
        spec = specs.from_json(source.description["spec"])
    except FormatError as error:
        place = source.path / DESCRIPTION
        raise FormatError(f"{place}: {error}; repair it or delete it, no shard needs it") from error
    own = [_of_header(header) for _, header in shard_headers([source])]
    return spec if isinstance(spec, specs.Dict) and not any(compatible(spec, each) for each in own) else None


def _of_header(header: pb.ShardHeader) -> specs.Dict:
    spec = specs.from_message(header.spec) if header.spec.WhichOneof("kind") else specs.Dict({})
    return spec if isinstance(spec, specs.Dict) else specs.Dict({})
