"""Pictures that are drawn again for the replay, in separate processes."""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import rlds_kit
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.replay import drawing
from rlds_kit.studio.replay.drawing import Drawings


def record(directory: Path, episodes: int = 1, trouble: str = "") -> list[uuid.UUID]:
    """Episodes of a corridor."""
    with GymnasiumLogger(gymnasium.make("rlds_kit_tests/Corridor-v0", trouble=trouble), directory) as env:
        for seed in range(episodes):
            env.reset(seed=seed)
            for _ in range(2):
                env.step(1)
    return [episode.id for episode in rlds_kit.open(directory).episodes]


@contextlib.contextmanager
def drawings() -> Iterator[Drawings]:
    """They are closed afterwards."""
    found = Drawings(["tests.trials.environments.odd_environments"])
    try:
        yield found
    finally:
        found.close()


@pytest.fixture(autouse=True)
def _registered() -> Any:
    import tests.trials.environments.odd_environments  # noqa: F401  it registers environments


def test_a_missing_step_is_reported(tmp_path: Path) -> None:
    """There is one picture per step."""
    (episode,) = record(tmp_path)
    with drawings() as found:
        assert found.picture(str(tmp_path), episode, 2).startswith(b"\x89PNG")
        with pytest.raises(ApiError, match="no step 3"):
            found.picture(str(tmp_path), episode, 3)


def test_an_unknown_environment_is_reported(tmp_path: Path) -> None:
    """The error says that it is not registered."""
    (episode,) = record(tmp_path)
    found = Drawings()
    try:
        with pytest.raises(ApiError, match="is not registered"):
            found.picture(str(tmp_path), episode, 0)
    finally:
        found.close()


def test_only_some_episodes_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A discarded one is drawn again."""
    monkeypatch.setattr(drawing, "MOST_EPISODES", 1)
    first, second = record(tmp_path, episodes=2)
    with drawings() as found:
        shown = found.picture(str(tmp_path), first, 1)
        found.picture(str(tmp_path), second, 1)
        assert found.picture(str(tmp_path), first, 1) == shown


def test_pictures_take_a_limited_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later pictures are not drawn, and the page receives the reason."""
    monkeypatch.setattr(drawing, "MOST_BYTES", 10)
    (episode,) = record(tmp_path)
    with drawings() as found:
        assert found.picture(str(tmp_path), episode, 0)
        with pytest.raises(ApiError, match="MiB"):
            found.picture(str(tmp_path), episode, 1)


def test_an_environment_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier steps are shown; for later ones the page receives the reason why there is no picture."""
    with monkeypatch.context() as patch:
        patch.setattr("time.sleep", lambda _: None)  # the environment did not hang when it was recorded
        (episode,) = record(tmp_path, trouble="hang")
    monkeypatch.setattr(drawing, "PICTURE_SECONDS", 1.0)
    with drawings() as found:
        assert found.picture(str(tmp_path), episode, 1)
        with pytest.raises(ApiError, match="drew nothing for 1 seconds"):
            found.picture(str(tmp_path), episode, 2)
