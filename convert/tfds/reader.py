"""Reads the datasets of TFDS for conversions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.base.origin import SOURCE
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.base.step import ACTED_FIELDS, FLAGS, RECORDED, EpisodeEnd
from rlds_kit.convert import images
from rlds_kit.convert.decoded_size import bytes_of_step
from rlds_kit.convert.last_steps import OBSERVATION_VALID, Flags, LastSteps, acted_fields, ending, read_flags
from rlds_kit.convert.protocol import ForeignEpisode, Format, Loss, PartReader
from rlds_kit.convert.rows import Rows
from rlds_kit.convert.tfds.columns import Column, count_of_numbers, last_value, step_column, stored_strings
from rlds_kit.convert.tfds.directory import INFO, TfdsDirectory, is_tfds_directory, open_directory
from rlds_kit.convert.tfds.episodes import TfdsEpisode, naming, read_episode
from rlds_kit.convert.tfds.features import FILE as FEATURES
from rlds_kit.convert.tfds.features import leaves, nested, spec_of
from rlds_kit.convert.tfds.splits import ALL, Stretch
from rlds_kit.convert.tfds.tf_example import Example
from rlds_kit.storage import directory as directories


class TfdsReader(PartReader):
    """Reads a split, or all of them one after the other.

    The meaning of last steps depends on those of all episodes; so the files are scanned once, by `weigh` or before the
    first episode is read.

    Args:
      directory: a prepared dataset, from `tfds_directory.open_directory`.
      split: as `tfds.load` takes it; None: the only one.

    Attributes:
      origin: the metadata of the dataset, and the result of the scan.
    """

    def __init__(self, directory: TfdsDirectory, split: str | None = None) -> None:
        self._directory, self._split = directory, split
        self._stretches = directory.stretches(split)
        self._survey: _Survey | None = None
        files = {path for each in self._stretches for path, _, _ in directory.files_of(each) if path.is_file()}
        self.size = sum(path.stat().st_size for path in files)
        self.about: Mapping[str, str] = _about(directory)
        self.spec = _declared(directory)
        names = directory.class_names
        self.metadata: Mapping[str, Any] = {**self.about, **({"class_names": names} if names else {})}
        self.environment: Mapping[str, Any] = {}
        self.lossy: Mapping[str, str] = _declared_losses(directory)
        self.losses: list[Loss] = []
        self.origin: Mapping[str, Any] = {}
        self.decoded = 0

    def __len__(self) -> int:
        return sum(each.end - each.begin for each in self._stretches)

    def weigh(self, progress: Callable[[int], None]) -> Sequence[int]:
        """Reads all last steps, and estimates the bytes of each episode from its number of steps.

        The size of a record says little: frames of one game are compressed to a tenth of those of another one, and take
        as long to convert.
        """
        found = self._survey = _survey(self._directory, self._stretches, progress)
        self.lossy = {**self.lossy, **found.losses}
        self.origin = _origin(self._directory, self._split, found)
        steps = sum(found.steps)
        self.decoded = steps * bytes_of_step(self.spec)
        return [self.size * each // max(1, steps) for each in found.steps]

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads some of the episodes."""
        self.losses.clear()
        if self._survey is None:
            self.weigh(lambda _: None)
        assert self._survey is not None  # noqa: S101  `weigh` has made it
        for stretch in _between(self._stretches, begin, end):
            for record in self._directory.records(stretch):
                yield self._episode(read_episode(self._directory, record), self._survey.last_steps)

    def _episode(self, episode: TfdsEpisode, last_steps: LastSteps) -> ForeignEpisode:
        if not episode.length:
            return ForeignEpisode([], [], EpisodeEnd.INTERRUPTED, metadata=episode.metadata)
        flags = read_flags(episode.columns, episode.length)
        observed, acted = _sides(self._directory, episode.columns, flags)
        actions = episode.length if last_steps.have_an_action(flags) else episode.length - 1
        end = ending(flags, episode.metadata)
        return ForeignEpisode(
            Rows(observed, episode.length - flags.lacks_observation),
            Rows(acted, actions),
            end,
            terminated=end is EpisodeEnd.TERMINATED,
            truncated=end is EpisodeEnd.TRUNCATED,
            metadata=episode.metadata,
            provenance={SOURCE: {"split": episode.split, "file": episode.file, "record": episode.record}},
        )


class _Survey:
    """The result of a scan of all episodes.

    Attributes:
      last_steps: their values.
      losses: losses from the creation of the dataset that only its files show, by path of the feature.
      empty: records of episodes that have no steps.
      steps: of each episode.
    """

    def __init__(self) -> None:
        self.last_steps = LastSteps()
        self.losses: dict[str, str] = {}
        self.empty: list[str] = []
        self.steps: list[int] = []


def _survey(directory: TfdsDirectory, stretches: list[Stretch], progress: Callable[[int], None]) -> _Survey:
    features = leaves({STEPS: directory.features.steps, **directory.features.metadata})
    found = _Survey()
    unknown = [path for path, each in features.items() if each.kind == "image" and not each.encoding]
    for record in (each for stretch in stretches for each in directory.records(stretch)):
        with naming(record):
            example = Example(record.data)
            steps = _add_last_step(directory, example, found.last_steps)
            found.steps.append(steps)
            if not steps:
                found.empty.append(f"{record.file.name}, record {record.number}")
            for path in unknown:
                if path not in found.losses and any(map(images.is_jpeg, stored_strings(example, path))):
                    found.losses[path] = "jpeg"
        progress(len(record.data))
    return found


def _add_last_step(directory: TfdsDirectory, example: Example, last_steps: LastSteps) -> int:
    """Adds the last step of an episode; returns the number of steps."""
    features = leaves(directory.features.steps)
    steps = count_of_numbers(example, directory.features.steps)  # reading it compares all lengths
    flags = {path: each for path, each in features.items() if path in (*FLAGS, OBSERVATION_VALID)}
    columns = {path: step_column(example, path, feature, steps) for path, feature in flags.items()}
    acted = {path: last_value(example, path, feature, steps) for path, feature in acted_fields(features).items()}
    if steps:
        last_steps.add(read_flags(columns, steps), acted)
    return steps


def _between(stretches: list[Stretch], begin: int, end: int) -> Iterator[Stretch]:
    """The parts of stretches that contain a range of all their episodes."""
    first = 0
    for each in stretches:
        low, high = max(0, begin - first), min(each.end - each.begin, end - first)
        if low < high:
            yield Stretch(each.split, each.begin + low, each.begin + high)
        first += each.end - each.begin


def _sides(
    directory: TfdsDirectory, columns: Mapping[str, Column], flags: Flags
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of the observation side and of the action side, nested like the fields of a step."""
    fields = nested(directory.features.steps, columns)
    own = {*FLAGS, *ACTED_FIELDS} | ({OBSERVATION_VALID} if flags.has_validity else set())
    observed = {name: field for name, field in fields.items() if name not in own}
    observed |= {f"{RECORDED}{name}": column for name, column in flags.odd.items()}
    return observed, {name: fields[name] for name in ACTED_FIELDS if name in fields}


def _declared(directory: TfdsDirectory) -> specs.Dict:
    fields = spec_of(directory.features.steps).fields
    return specs.Dict({name: spec for name, spec in fields.items() if name not in (*FLAGS, OBSERVATION_VALID)})


def _declared_losses(directory: TfdsDirectory) -> dict[str, str]:
    features = leaves({STEPS: directory.features.steps, **directory.features.metadata})
    return {path: each.loss for path, each in features.items() if each.loss}


def _about(directory: TfdsDirectory) -> dict[str, str]:
    info = directory.info
    licence = (info.get("redistributionInfo") or {}).get("license", "")
    texts = {key: str(info.get(key) or "") for key in ("description", "citation")}
    return {"name": directory.name, "licence": str(licence), **texts}


def _origin(directory: TfdsDirectory, split: str | None, found: _Survey) -> dict[str, Any]:
    return {
        "name": directory.name,
        "version": str(directory.info.get("version", "")),
        "split": split or "+".join(directory.shard_lengths),
        "file_format": directory.file_format,
        "features_sha256": directory.sha256(FEATURES),
        "dataset_info_sha256": directory.sha256(INFO),
        "urls": list((directory.info.get("location") or {}).get("urls", ())),
        "last_steps": found.last_steps.described,
        "episodes_without_steps": found.empty,
    }


def _open(path: Path) -> TfdsReader:
    return TfdsReader(open_directory(path), ALL)


def _recognises(path: Path) -> bool:
    return is_tfds_directory(path) and not directories.is_dataset(path)


FORMAT: Final = Format(
    name="tfds",
    summary="a dataset of episodes that TFDS has prepared, with features.json",
    recognises=_recognises,
    open=_open,
)
