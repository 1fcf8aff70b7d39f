"""Writes the episodes of a dataset of TFDS into one of ours, and proves that nothing changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.convert import images
from rlds_kit.convert.episode_content import content_of_columns, content_of_episode
from rlds_kit.convert.last_steps import OBSERVATION_VALID, Flags, LastSteps, acted_fields, ending, read_flags
from rlds_kit.convert.tf_example import Example
from rlds_kit.convert.tfds import TfdsEpisode, naming, read_episode
from rlds_kit.convert.tfds_columns import Column, count_steps, step_column, stored_strings
from rlds_kit.convert.tfds_directory import INFO, Record, TfdsDirectory
from rlds_kit.convert.tfds_features import FILE as FEATURES
from rlds_kit.convert.tfds_features import leaves, nested, spec_of
from rlds_kit.convert.tfds_splits import Stretch
from rlds_kit.dataset import open_dataset
from rlds_kit.errors import FormatError
from rlds_kit.rlds_types import STEPS
from rlds_kit.step import ACTED_FIELDS, FLAGS
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.upkeep.report import Progress

VERSION: Final = 1
"""Of the conversion: datasets that an older one made are made again."""
SOURCE: Final = "source"
"""Metadata of a converted dataset, and provenance of its episodes: where they come from."""
RECORDED: Final = "recorded_"
"""Begins the name of a field that holds a flag where it is not what the place of the step says."""


def convert(directory: TfdsDirectory, split: str | None, target: Path, progress: Progress | None = None) -> None:
    """Writes the episodes of a split into a new dataset, and compares what was written with what was read.

    Every file is read twice: first to see what the last steps hold, then to write.

    Args:
      directory: a prepared dataset, from `tfds_directory.open_directory`.
      split: as `tfds.load` takes it; None: the only one.
      target: the directory of the new dataset.
      progress: called with the bytes that are done and the bytes there are.

    Raises:
      As `tfds.episodes`; and FormatError, if a written episode is not the one that was read.
    """
    stretches = directory.stretches(split)
    meter = _Meter(_bytes_of(directory, stretches), progress)
    found = _survey(directory, stretches, meter)
    contents = []
    with Recorder(
        target,
        _declared(directory),
        mode="error",
        policy=FlushPolicy.manual(),
        about=_about(directory),
        metadata=_metadata(directory, split, found),
    ) as recorder:
        for record in _records(directory, stretches):
            episode = read_episode(directory, record)
            if episode.length:
                contents.append(_write(recorder, directory, episode, found.last_steps))
            meter.add(len(record.data))
    _compare(directory, target, contents)


@dataclass(frozen=True)
class _Survey:
    """What a look at all episodes finds.

    Attributes:
      last_steps: what they hold.
      losses: what was lost when the dataset was made, by path of the feature.
      empty: records of episodes that have no steps, and are left out.
    """

    last_steps: LastSteps
    losses: dict[str, str]
    empty: list[str]


def _survey(directory: TfdsDirectory, stretches: list[Stretch], meter: "_Meter") -> _Survey:
    features = leaves({STEPS: directory.features.steps, **directory.features.metadata})
    found = _Survey(LastSteps(), {path: each.loss for path, each in features.items() if each.loss}, [])
    unknown = [path for path, each in features.items() if each.kind == "image" and not each.encoding]
    for record in _records(directory, stretches):
        with naming(record):
            example = Example(record.data)
            if not _look(directory, example, found.last_steps):
                found.empty.append(f"{record.file.name}, record {record.number}")
            for path in unknown:
                if path not in found.losses and any(map(images.is_jpeg, stored_strings(example, path))):
                    found.losses[path] = "jpeg"
        meter.add(len(record.data))
    return found


def _look(directory: TfdsDirectory, example: Example, last_steps: LastSteps) -> int:
    """Shows an episode's last step; returns the number of steps."""
    features = leaves(directory.features.steps)
    steps = count_steps(example, directory.features.steps)
    flags = {path: each for path, each in features.items() if path in (*FLAGS, OBSERVATION_VALID)}
    wanted = flags | acted_fields(features)
    columns = {path: step_column(example, path, feature, steps) for path, feature in wanted.items()}
    if steps:
        last_steps.look(read_flags(columns, steps), acted_fields(columns))
    return steps


def _write(recorder: Recorder, directory: TfdsDirectory, episode: TfdsEpisode, last_steps: LastSteps) -> bytes:
    """Records an episode; returns the digest of its content."""
    flags = read_flags(episode.columns, episode.length)
    observed, acted = _sides(directory, episode.columns, flags)
    actions = episode.length if last_steps.hold_an_action(flags) else episode.length - 1
    observations = episode.length - 1 if flags.lacks_observation else episode.length
    source = {"split": episode.split, "file": episode.file, "record": episode.record}
    open_episode = recorder.start_episode(metadata=episode.metadata, provenance={SOURCE: source})
    for row in range(observations):
        done = _row(acted, row - 1) if row else None
        open_episode.append(_row(observed, row), done)
    if actions == observations:
        open_episode.act(_row(acted, actions - 1))
    end = ending(flags, episode.metadata)
    open_episode.end(end)
    rows = dict.fromkeys(observed, observations) | dict.fromkeys(acted, actions)
    return content_of_columns(observed | acted, rows, episode.metadata, end, _loose(directory))


def _sides(
    directory: TfdsDirectory, columns: Mapping[str, Column], flags: Flags
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of what belongs to observations, and to actions, nested as the fields of a step are."""
    fields = nested(directory.features.steps, columns)
    own = {*FLAGS, *ACTED_FIELDS} | ({OBSERVATION_VALID} if flags.says_validity else set())
    observed = {name: field for name, field in fields.items() if name not in own}
    observed |= {f"{RECORDED}{name}": column for name, column in flags.odd.items()}
    return observed, {name: fields[name] for name in ACTED_FIELDS if name in fields}


def _row(nest: Mapping[str, Any], row: int) -> dict[str, Any]:
    """The fields of one step."""
    return {name: _row(each, row) if isinstance(each, dict) else each[row] for name, each in nest.items()}


def _declared(directory: TfdsDirectory) -> specs.Dict:
    fields = spec_of(directory.features.steps).fields
    return specs.Dict({name: spec for name, spec in fields.items() if name not in (*FLAGS, OBSERVATION_VALID)})


def _loose(directory: TfdsDirectory) -> frozenset[str]:
    """Paths whose values may differ in shape from step to step."""
    found = {path: feature.spec for path, feature in leaves(directory.features.steps).items()}
    return frozenset(path for path, spec in found.items() if not isinstance(spec, specs.Array) or None in spec.shape)


def _about(directory: TfdsDirectory) -> dict[str, str]:
    info = directory.info
    licence = (info.get("redistributionInfo") or {}).get("license", "")
    texts = {key: str(info.get(key) or "") for key in ("description", "citation")}
    return {"name": directory.name, "licence": str(licence), **texts}


def _metadata(directory: TfdsDirectory, split: str | None, found: _Survey) -> dict[str, Any]:
    source = {
        "format": "tfds",
        "name": directory.name,
        "version": str(directory.info.get("version", "")),
        "split": split or "+".join(directory.shard_lengths),
        "file_format": directory.file_format,
        "features_sha256": directory.sha256(FEATURES),
        "dataset_info_sha256": directory.sha256(INFO),
        "urls": list((directory.info.get("location") or {}).get("urls", ())),
        "converter": VERSION,
        "last_steps": found.last_steps.described,
        "lossy_at_the_source": found.losses,
        "episodes_without_steps": found.empty,
    }
    names = directory.class_names
    return {**_about(directory), SOURCE: source, **({"class_names": names} if names else {})}


def _compare(directory: TfdsDirectory, target: Path, contents: list[bytes]) -> None:
    """Reads everything back.

    Raises:
      FormatError: it is not what was read.
    """
    written = open_dataset(target)
    loose = _loose(directory)
    if len(written.episodes) != len(contents):
        raise FormatError(f"{target}: expected {len(contents)} episodes, but {len(written.episodes)} were written")
    for number, (episode, content) in enumerate(zip(written.episodes, contents, strict=True)):
        if content_of_episode(episode, loose) != content:
            source = episode.provenance[SOURCE]
            raise FormatError(
                f"{target}: episode {number} is not what record {source['record']} of {source['file']} holds: a defect "
                "of rlds_kit, or of this machine's memory or disk"
            )


def _records(directory: TfdsDirectory, stretches: list[Stretch]) -> Iterator[Record]:
    for stretch in stretches:
        yield from directory.records(stretch)


def _bytes_of(directory: TfdsDirectory, stretches: list[Stretch]) -> int:
    files = {path for stretch in stretches for path, _, _ in directory.files_of(stretch) if path.is_file()}
    return sum(path.stat().st_size for path in files)


class _Meter:
    """Counts bytes of files that are read twice."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = 0, 2 * total, progress

    def add(self, count: int) -> None:
        """Says that so many more are done."""
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)
