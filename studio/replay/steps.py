"""The data of an episode for a page: a summary, one step, one picture, one array."""

import io
import uuid
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.frame_rate import DEFAULT, known_rate
from rlds_kit.base.step import FLAGS
from rlds_kit.episode.episode import Episode
from rlds_kit.riegeli import RiegeliError
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.json_numbers import number
from rlds_kit.studio.replay.action_names import action_names
from rlds_kit.studio.replay.boxes import step_boxes
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.library import Admitted
from rlds_kit.studio.replay.pictures import frames_of
from rlds_kit.studio.replay.profile import profile
from rlds_kit.studio.replay.remarks import remarks
from rlds_kit.studio.replay.rows import duration, ending
from rlds_kit.studio.replay.values import at, below, shown
from rlds_kit.tools.replay.drawn import why_not_drawn
from rlds_kit.trials.frames.picture import encode_exactly

_ABOUT: Final = ("metadata", "run_metadata", "provenance", "seed", "options")
PLAY: Final = "play"
"""The field in which the studio records who acted, and how."""
_FACTS: Final = ("driver", "keys", "shown_frame", "is_default")


def episode_facts(admitted: Admitted, wanted: uuid.UUID) -> dict[str, Any]:
    """The data of a whole episode; see `routes` for its content.

    Raises:
      ApiError: there is no such episode.
    """
    collection = admitted.collection
    episode, problems = collection.episode(wanted), list[str]()
    found = remarks(collection, wanted)
    return {
        "id": str(episode.id),
        **_neighbours(collection, wanted, is_listed=admitted.is_listed),
        "length": episode.length,
        "end": ending(episode),
        "started": _tried(lambda: episode.started.isoformat(timespec="seconds"), "", problems),
        "rate": _tried(lambda: rate(episode), DEFAULT, problems),
        "fields": _tried(lambda: _fields(episode), [], problems),
        "spec": specs.to_json(collection.dataset.spec),
        "about": {
            name: _tried(lambda name=name: shown(getattr(episode, name), None), None, problems) for name in _ABOUT
        },
        "action_names": list(_tried(lambda: action_names(episode), (), problems)),
        "profile": _tried(lambda: profile(episode), None, problems),
        "annotations": found["annotations"],
        "problems": list(dict.fromkeys([*problems, *found["problems"]])),
        "source": admitted.source,
        "can_annotate": admitted.can_annotate,
        "can_retract_all": admitted.can_retract_all,
        "can_be_drawn": _tried(lambda: not why_not_drawn(episode), False, problems),
    }


def rate(episode: Episode) -> float:
    """Steps per second while it was recorded, from the metadata or the clocks."""
    known = known_rate(episode.metadata | episode.run_metadata, {})
    seconds = duration(episode)
    if known is not None:
        return known
    return (episode.length - 1) / seconds if seconds else DEFAULT


def step_values(collection: Collection, wanted: uuid.UUID, step: int) -> dict[str, Any]:
    """A step: its fields, which of them are defined, its flags, and who acted.

    Raises:
      ApiError: there is no such episode or step.
    """
    episode = collection.episode(wanted)
    values = _step(episode, step)
    named = {name: value for name, value in values.items() if name not in FLAGS}
    defined = {name: _is_defined(episode, name, step) for name in named}
    return {
        "step": step,
        "flags": [name for name in FLAGS if values.get(name)],
        "fields": [
            {"name": name, "defined": defined[name], "value": shown(value, below("", name))}
            for name, value in named.items()
        ],
        "people": _people(named.get(PLAY)) if defined.get(PLAY) else [],
        "boxes": step_boxes(collection, episode, step),
    }


def step_picture(collection: Collection, wanted: uuid.UUID, step: int, place: str, frame: int) -> bytes:
    """A PNG of the value at a place of a step; exact if the picture has whole numbers from 0 to 255.

    Raises:
      ApiError: there is no such episode or step, or no picture there.
    """
    frames = frames_of(_at(collection.episode(wanted), step, place))
    if frames is None or frame >= len(frames.pixels):
        raise ApiError(404, "no_picture", f"step {step} has no picture {frame} at {place[:200]!r}", "field")
    return encode_exactly(frames.shown(frame))


def step_array(collection: Collection, wanted: uuid.UUID, step: int, place: str) -> bytes:
    """The array at a place of a step as NPY, bit for bit.

    Raises:
      ApiError: there is no such episode or step, or no array there.
    """
    value = _at(collection.episode(wanted), step, place)
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "biufcUS":
        raise ApiError(404, "no_array", f"step {step} has no array at {place[:200]!r}", "field")
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return file.getvalue()


def _step(episode: Episode, step: int) -> dict[str, Any]:
    if step >= episode.length:
        message = f"the episode has {episode.length} steps, there is no step {step}"
        raise ApiError(404, "no_step", message, "step")
    return episode.steps[step]


def _at(episode: Episode, step: int, place: str) -> Any:
    try:
        return at(_step(episode, step), place)
    except LookupError:
        return None


def _is_defined(episode: Episode, name: str, step: int) -> bool:
    try:
        return bool(episode[step : step + 1].mask(name)[0])
    except KeyError:
        return False


def _fields(episode: Episode) -> list[dict[str, str]]:
    first = episode.steps[0] if episode.length else {}
    kinds = {name: shown(value, below("", name))["kind"] for name, value in first.items()}
    return [{"name": name, "kind": kinds.get(name, "other")} for name in episode.fields]


def _people(play: Any) -> list[dict[str, Any]]:
    """Who acted, as the studio records it; fields of the same name from other recorders are ignored."""
    seats = play.get("seats") if isinstance(play, Mapping) else None
    found = seats.items() if isinstance(seats, Mapping) else ()
    return [
        {"seat": str(seat), **{name: _plain(facts.get(name)) for name in _FACTS}}
        for seat, facts in found
        if isinstance(facts, Mapping)
    ]


def _plain(value: Any) -> Any:  # JSON
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return None if value is None else number(value.item() if isinstance(value, np.generic) else value)


def _neighbours(collection: Collection, wanted: uuid.UUID, *, is_listed: bool) -> dict[str, Any]:
    if not is_listed:
        return dict.fromkeys(("number", "count", "before", "after"))
    place, episodes = collection.number(wanted), collection.dataset.episodes
    ids = [str(episodes[each].id) if 0 <= each < len(episodes) else None for each in (place - 1, place + 1)]
    return {"number": place, "count": len(episodes), "before": ids[0], "after": ids[1]}


def _tried(read: Any, default: Any, problems: list[str]) -> Any:
    """What `read` returns; if the data is damaged, the default, and the damage is added to `problems`."""
    try:
        return read()
    except (DamagedError, RiegeliError) as error:
        problems.append(str(error))
        return default
