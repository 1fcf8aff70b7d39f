"""Datasets for tests of the replay, and clients of their server."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient, WebSocketTestSession

import rlds_kit
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.logger import EpisodeWriter
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.viewer import application

PORT = 8123
TOKEN = "secret-token"  # noqa: S105  of a server of the tests
ORIGIN = f"http://127.0.0.1:{PORT}"


def frame(number: int, height: int = 24, width: int = 32) -> np.ndarray:
    """A picture that no other step has."""
    return np.random.default_rng(number).integers(0, 256, (height, width, 3), np.uint8)


def record(
    directory: Path, lengths: tuple[int, ...] = (12, 5), metadata: Mapping[str, Any] | None = None, start: int = 0
) -> list[str]:
    """Records episodes of pictures; the reward of a step is its number. Returns the ids."""
    ids = []
    with EpisodeWriter(directory, environment={"id": "Reach-v0"}) as writer:
        for number, length in enumerate(lengths, start):
            with writer.episode(metadata=metadata or {"operator": number}, seed=number) as episode:
                episode.start(frame(0), info={"lives": 3})
                for step in range(1, length):
                    last = step == length - 1
                    episode.step(step % 3, float(step - 1), frame(step), info={"lives": 3}, terminated=last)
                ids.append(str(episode.id))
    return ids


def odd_steps() -> list[dict[str, Any]]:
    """Observations of every type."""
    return [
        {
            "camera": {"left/right": frame(step), "depth": np.full((20, 20), step / 7, np.float32)},
            "text": f"step {step} “quoted” </script>\u2028",
            "bytes": bytes(range(step, step + 4)),
            "flag": step % 2 == 0,
            "bits": np.array([True, False]),
            "ragged": np.arange(step, dtype=np.int16),
            "big": 2**70 + step,
            "huge": 7**9000,
            "exact": np.int64(2**60 + step),
            "nan": np.array([np.nan, np.inf, -0.0, 1.5], np.float32),
            "complex": np.complex64(1 + 2j),
            "none": None,
            "half": np.float16(0.1),
            "nested": [{"a": (1, "b")}, [np.zeros((0, 3))], {}],
            "words": np.array(["a", "längst"]),
            "long": np.arange(10_000),
        }
        for step in range(3)
    ]


def record_odd(directory: Path) -> str:
    """One episode of them; its rewards are NaN, infinite and None."""
    with EpisodeWriter(directory) as writer, writer.episode() as episode:
        first, *others = odd_steps()
        episode.start(first)
        for number, observation in enumerate(others):
            last = number == len(others) - 1
            reward = np.float64(np.nan) if number == 0 else np.float64(2.5)
            episode.step({"a": number, "b": "left"}, reward, observation, truncated=last)
        return str(episode.id)


def record_agents(directory: Path) -> str:
    """One episode of two agents, one of which leaves."""
    with EpisodeWriter(directory) as writer, writer.episode() as episode:
        episode.start({"ann": np.zeros(2), "bob": np.ones(2)})
        episode.step({"ann": 0, "bob": 1}, {"ann": 1.0, "bob": -1.0}, {"ann": np.zeros(2), "bob": np.ones(2)})
        episode.step({"ann": 1}, {"ann": 2.0}, {"ann": np.full(2, 3.0)}, terminated=True)
        return str(episode.id)


@contextmanager
def recording(directory: Path, steps: int = 4) -> Iterator[Any]:
    """An episode that is open: the writer and the episode."""
    with EpisodeWriter(directory) as writer:
        episode = writer.episode()
        episode.start(frame(0))
        for step in range(1, steps):
            episode.step(0, 1.0, frame(step))
        writer.flush()
        yield writer, episode


@contextmanager
def viewing(directory: Path, source: str = "ann") -> Iterator[TestClient]:
    """A client that has the token, as a page of the server has."""
    dataset: Dataset = rlds_kit.open(directory, include_open=True)
    app = application(Collection(dataset), source, TOKEN, PORT)
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}) as client:
        assert client.get(f"/?token={TOKEN}").status_code == 200
        yield client


def get(client: TestClient, path: str, status: int = 200) -> Any:
    """The values of the response."""
    answered = client.get(path)
    assert answered.status_code == status, answered.text
    return answered.json()


def refused(client: TestClient, path: str, status: int) -> dict[str, str]:
    """The error of the response; it says what to do."""
    error: dict[str, str] = get(client, path, status)["error"]
    assert error["message"]
    return error


def reviewing(client: TestClient, episode: str) -> WebSocketTestSession:
    """A page that is notified of the annotations of others."""
    return client.websocket_connect(f"ws://127.0.0.1:{PORT}/ws/review?episode={episode}")
