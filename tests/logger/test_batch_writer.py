"""Batches that the caller passes are recorded as those of a wrapped vector environment."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from hypothesis import given, settings

import rlds_kit
from rlds_kit import RecordingError, SpecError, UnsupportedTypeError, logger
from rlds_kit import spec as specs
from rlds_kit.logger import provenance
from rlds_kit.logger.gymnasium_logger import declare
from rlds_kit.storage import batch_recorder
from rlds_kit.storage.batch_buffer import BatchBuffer
from tests.logger.scripted_vectors import SPACES, Program, Scripted, content_of, programs

NONE = np.zeros(2, np.bool_)
ONE = np.array([True, False])


@pytest.mark.filterwarnings("ignore:.*Actions are recorded as they are:UserWarning")
@pytest.mark.filterwarnings("ignore:.*It is recorded exactly as it came:UserWarning")
@settings(max_examples=40)
@given(program=programs)
def test_the_same_as_a_logger_records(tmp_path_factory: pytest.TempPathFactory, program: Program) -> None:
    """Values, types, ends and provenance of random programs."""
    home = tmp_path_factory.mktemp("both")
    actions = batch_space(SPACES[program.action], program.num_envs)
    actions.seed(program.seed)
    taken = [actions.sample() for _ in range(program.steps)]
    with logger.VectorLogger(Scripted(program), home / "wrapped") as envs:
        envs.reset(seed=3)
        for action in taken:
            envs.step(action)
    with _writer(home / "written", program) as writer:
        scripted = Scripted(program)
        writer.start(*scripted.reset(seed=3), seeds=range(3, 3 + program.num_envs))
        for action in taken:
            observation, *result = scripted.step(action)
            if writer.running.any() or program.mode is not AutoresetMode.DISABLED:
                writer.step(observation, action, *result)
    assert content_of(home / "wrapped") == content_of(home / "written")


def _writer(directory: Path, program: Program) -> logger.BatchWriter:
    spec = declare(SPACES[program.observation], SPACES[program.action], None)
    return logger.BatchWriter(
        directory,
        program.num_envs,
        autoreset=program.mode,
        spec=spec,
        environment=provenance.of_vector(Scripted(program)),
        strict=False,
    )


def _episodes(directory: Path) -> list[dict[str, Any]]:
    return [
        {
            "env": episode.provenance["sub_environment"],
            "observation": [float(step["observation"]) for step in episode.steps if "observation" in step],
            "action": [int(step["action"]) for step in episode.steps if "action" in step],
            "end": episode.end and episode.end.name,
        }
        for episode in rlds_kit.open(directory).episodes
    ]


def test_modes(tmp_path: Path) -> None:
    """What a step after an end means depends on the mode: a reset, a step of the next episode, or nothing."""
    found = {}
    for mode in AutoresetMode:
        with logger.BatchWriter(tmp_path / mode.value, 2, autoreset=mode.value) as writer:
            writer.start(np.array([0.0, 10.0]))
            writer.step(np.array([1.0, 11.0]), np.array([1, 2]), np.zeros(2), ONE, NONE)
            writer.step(np.array([2.0, 12.0]), np.array([3, 4]), np.zeros(2), NONE, NONE)
            if mode is AutoresetMode.DISABLED:
                writer.start(np.array([3.0, 13.0]), mask=ONE)
            writer.step(np.array([4.0, 14.0]), np.array([5, 6]), np.zeros(2), NONE, NONE)
        found[mode] = sorted(_episodes(tmp_path / mode.value), key=lambda each: (each["env"], each["observation"]))
    second = {"env": 1, "observation": [10.0, 11.0, 12.0, 14.0], "action": [2, 4, 6], "end": "INTERRUPTED"}
    over = {"env": 0, "observation": [0.0, 1.0], "action": [1], "end": "TERMINATED"}
    assert found[AutoresetMode.NEXT_STEP] == [
        over,
        {"env": 0, "observation": [2.0, 4.0], "action": [5], "end": "INTERRUPTED"},
        second,
    ]
    assert found[AutoresetMode.DISABLED] == [
        over,
        {"env": 0, "observation": [3.0, 4.0], "action": [5], "end": "INTERRUPTED"},
        second,
    ]
    assert found[AutoresetMode.SAME_STEP] == [
        {"env": 0, "observation": [0.0], "action": [1], "end": "TERMINATED"},  # its last observation is unknown
        {"env": 0, "observation": [1.0, 2.0, 4.0], "action": [3, 5], "end": "INTERRUPTED"},
        second,
    ]


def test_last_observations(tmp_path: Path) -> None:
    """With SAME_STEP they are passed beside the first ones of the next episodes."""
    with logger.BatchWriter(tmp_path, 2, autoreset="SameStep") as writer:
        writer.start(np.array([0.0, 10.0]))
        writer.step(
            np.array([0.5, 11.0]), np.array([1, 2]), np.zeros(2), ONE, NONE, final_observation=np.array([9.0, 99.0])
        )
    assert [each["observation"] for each in _episodes(tmp_path)] == [[0.0, 9.0], [0.5], [10.0, 11.0]]


def test_arrays_of_a_device(tmp_path: Path) -> None:
    """Torch's tensors are recorded as the arrays that they contain, in infos too; each is copied once for a step."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for name, wrap in (("numpy", np.asarray), ("torch", torch.as_tensor)):
        rng = np.random.default_rng(0)
        with logger.BatchWriter(tmp_path / name, 3, autoreset="NextStep") as writer:
            writer.start({"x": wrap(rng.normal(size=(3, 2)))})
            for _ in range(5):
                info = {"lives": wrap(rng.integers(0, 9, 3)), "_lives": wrap(rng.random(3) < 0.5)}
                done = wrap(rng.random(3) < 0.3)
                action, reward = wrap(rng.integers(0, 4, 3)), wrap(rng.random(3))
                observation = {"x": wrap(rng.normal(size=(3, 2)))}
                writer.step(observation, action, reward, done, wrap(np.zeros(3, np.bool_)), info)
    assert content_of(tmp_path / "torch") == content_of(tmp_path / "numpy")


@pytest.mark.parametrize(
    ("field", "batch", "expected"),
    [
        ("observation", np.zeros((3, 2)), "observation: expected 2 values, one for each environment, got 3"),
        ("observation", {"x": np.zeros(1)}, "observation/x: expected 2 values, one for each environment, got 1"),
        ("action", 3, "action: expected 2 values, one for each environment, got int"),
        ("reward", np.float64(1.0), "reward: expected 2 values, one for each environment, got float64"),
        ("terminated", [True], r"terminated: expected 2 truth values, one for each environment, got bool \(1,\)"),
        ("truncated", np.zeros((0,)), r"truncated: expected 2 truth values.* got float64 \(0,\)"),
        ("truncated", np.zeros((2, 2), np.bool_), r"truncated: expected 2 truth values.* got bool \(2, 2\)"),
        ("terminated", np.array([np.nan, 0]), "terminated: expected 2 truth values"),
        ("terminated", ["False", "False"], "terminated: expected 2 truth values"),
        ("truncated", [None, True], "truncated: expected 2 truth values"),
        ("final_observation", np.zeros(3), "final_obs: expected 2 values, one for each environment, got 3"),
        ("action", (np.zeros(2), np.zeros(2)), "action: expected a tuple to be declared in the spec"),
    ],
)
def test_batches_of_another_length(tmp_path: Path, field: str, batch: object, expected: str) -> None:
    """They are refused before anything of the step is recorded: rows of other environments would be wrong."""
    good: dict[str, Any] = {
        "observation": np.zeros((2, 2)),
        "action": np.zeros(2),
        "reward": np.zeros(2),
        "terminated": NONE,
        "truncated": NONE,
    }
    with logger.BatchWriter(tmp_path, 2, autoreset="SameStep") as writer:
        writer.start(good["observation"])
        with pytest.raises(SpecError, match=expected):
            writer.step(**good | {field: batch})
        writer.step(**good)
    assert [episode.length for episode in rlds_kit.open(tmp_path).episodes] == [2, 2]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_flags_may_be_a_column(tmp_path: Path, mode: str) -> None:
    """As simulators on a GPU return them. Each belongs to its own environment."""
    with logger.BatchWriter(tmp_path, 2, autoreset=mode) as writer:
        writer.start(np.zeros(2), mask=np.ones((2, 1)))
        writer.step(np.ones(2), np.zeros(2), np.zeros(2), np.array([[1.0], [0.0]]), NONE[:, np.newaxis])
        writer.step(np.ones(2), np.zeros(2), np.zeros(2), NONE, NONE)
    terminated: dict[int, list[bool]] = {0: [], 1: []}
    for episode in rlds_kit.open(tmp_path).episodes:
        terminated[episode.provenance["sub_environment"]].append(episode.terminated)
    assert terminated == {0: [True, False][: 1 + (mode != "Disabled")], 1: [False]}


def test_declared_fields(tmp_path: Path) -> None:
    """The spec is of one environment; a batch of another dtype is an error, unless strict is off."""
    spec = specs.Dict({"observation": specs.Tuple((specs.Array((2,), "float32"), specs.Array((), "int64")))})
    with logger.BatchWriter(tmp_path, 2, autoreset="SameStep", spec=spec) as writer:
        writer.start((np.zeros((2, 2), np.float32), np.array([5, 6])))
        with pytest.raises(SpecError, match="observation: expected a tuple of 2 batches, got 1"):
            writer.step((np.zeros((2, 2), np.float32),), np.zeros(2), np.zeros(2), NONE, NONE)
        with pytest.raises(SpecError, match="observation"):
            writer.step((np.zeros((2, 2)), np.array([5, 6])), np.zeros(2), np.zeros(2), NONE, NONE)
    (first, second) = rlds_kit.open(tmp_path).episodes
    assert (int(first.steps[0]["observation"][1]), int(second.steps[0]["observation"][1])) == (5, 6)


def test_other_names_of_the_same_shape(tmp_path: Path) -> None:
    """Undeclared fields may change from step to step; a batch is not recorded under the names of the last one."""
    with logger.BatchWriter(tmp_path, 2, autoreset="Disabled") as writer:
        writer.start({"x": np.zeros(2)})
        for name in ("y", "x", "y"):
            writer.step({name: np.ones(2)}, np.zeros(2), np.zeros(2), NONE, NONE)
    for episode in rlds_kit.open(tmp_path).episodes:
        assert [sorted(step["observation"]) for step in episode.steps] == [["x"], ["y"], ["x"], ["y"]]


def test_other_mistakes(tmp_path: Path) -> None:
    """Steps before a start, unknown modes, no environments, seeds of another number."""
    with pytest.raises(
        ValueError, match="autoreset: expected one of 'NextStep', 'SameStep', 'Disabled', got 'NextstepX'"
    ):
        logger.BatchWriter(tmp_path / "a", 2, autoreset="NextstepX")
    with pytest.raises(ValueError, match="num_envs: expected a number above 0, got 0"):
        logger.BatchWriter(tmp_path / "b", 0, autoreset="NextStep")
    with logger.BatchWriter(tmp_path / "c", 2, autoreset="Disabled") as writer:
        with pytest.raises(RecordingError, match=r"call start\(\) before step\(\)"):
            writer.step(np.zeros(2), np.zeros(2), np.zeros(2), NONE, NONE)
        with pytest.raises(SpecError, match="seeds: expected 2, one for each environment, got 1"):
            writer.start(np.zeros(2), seeds=[1])
        for mask in (np.array([True]), np.array([1, 5]), np.ones((2, 2), np.bool_)):
            with pytest.raises(SpecError, match="mask: expected 2 truth values"):
                writer.start(np.zeros(2), mask=mask)
        writer.start(np.zeros(2), seeds=[7, 8])
        writer.flush()
        assert list(writer.recorder.durable.values()) == [1, 1]
    assert [episode.seed for episode in rlds_kit.open(tmp_path / "c").episodes] == [7, 8]


def test_final_observations_of_text_are_recorded_whole(tmp_path: Path) -> None:
    """As Gymnasium batches a space `Text`: a tuple, of which the first letters were recorded."""
    ends, others = np.array([True, False]), np.zeros(2, np.bool_)
    with logger.BatchWriter(tmp_path, 2, autoreset="SameStep") as writer:
        writer.start(("start 0", "start 1"))
        arguments = np.array([1, 2]), np.zeros(2), ends, others
        writer.step(("new 0", "new 1"), *arguments, final_observation=("last 0", "last 1"))
    first = rlds_kit.open(tmp_path).episodes[0]
    assert [step["observation"] for step in first.steps] == ["start 0", "last 0"]


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_recording_continues_with_the_next_autoreset(tmp_path: Path, mode: str) -> None:
    """After a row that cannot be recorded, also if no other environment is within an episode."""
    no, value, action = np.zeros(1, np.bool_), np.zeros(1), np.zeros(1, np.int64)
    with logger.BatchWriter(tmp_path, 1, autoreset=mode) as writer:
        writer.start(value)
        with pytest.raises(rlds_kit.UnsupportedTypeError, match="object"):
            writer.step(value + 1, action, value, no, no, {"x": np.array([object()])})
        assert writer.running.tolist() == [False]
        writer.step(value + 2, action, value, ~no, no)
        writer.step(value + 3, action, value, no, no)
        writer.step(value + 4, action, value, no, no)
    found = [episode["observation"].tolist() for episode in rlds_kit.open(tmp_path).episodes]
    assert found == [[0.0], [2.0, 3.0, 4.0] if mode == "SameStep" else [3.0, 4.0]]


def test_without_autoresets_only_a_start_continues(tmp_path: Path) -> None:
    """After a row that cannot be recorded, further steps are an error: they would not be recorded."""
    no, value, action = np.zeros(1, np.bool_), np.zeros(1), np.zeros(1, np.int64)
    with logger.BatchWriter(tmp_path, 1, autoreset="Disabled") as writer:
        writer.start(value)
        with pytest.raises(rlds_kit.UnsupportedTypeError, match="object"):
            writer.step(value + 1, action, value, no, no, {"x": np.array([object()])})
        with pytest.raises(RecordingError, match=r"call start\(\)"):
            writer.step(value + 2, action, value, no, no)


@pytest.mark.parametrize("autoreset", ["NextStep", "SameStep"])
def test_a_seed_that_cannot_be_recorded_concerns_its_environment_only(tmp_path: Path, autoreset: str) -> None:
    """The rows of the others are recorded, also in the step that begins its next episode, whose form is known."""
    flags, errors = np.zeros(2, np.bool_), list[int]()
    with logger.BatchWriter(tmp_path, 2, autoreset=autoreset) as writer:
        for row in range(12):
            observation = np.full((2, 1), row, np.float32)
            try:
                if row in (0, 4):
                    writer.start(observation, seeds=[object() if row else 4, 5])
                else:
                    writer.step(observation, np.zeros(2), np.full(2, row / 2), flags | [row == 7, False], flags)
            except UnsupportedTypeError:
                errors.append(row)
    assert errors == [4, 8 if autoreset == "NextStep" else 7]
    episodes = rlds_kit.open(tmp_path).episodes
    found = sorted([float(step["observation"][0]) for step in episode.steps] for episode in episodes)
    assert found == [[0, 1, 2, 3], [0, 1, 2, 3], [*range(4, 12)]]


def test_running_may_be_read_by_another_thread(tmp_path: Path) -> None:
    """It takes nothing over from the log of rows, which two threads would do twice."""
    flags = np.zeros(2, np.bool_)
    with logger.BatchWriter(tmp_path, 2, autoreset="NextStep") as writer:
        writer.start(np.zeros(2), seeds=[3, 4])
        for step in range(40):
            ended = np.array([step % 5 == 4, step % 7 == 6])
            writer.step(np.full(2, 1.0), np.zeros(2), np.zeros(2), ended, flags)
            log = writer._log._log
            assert writer.running.tolist() == (~ended).tolist()
            assert writer._log._log is log


def test_actions_far_larger_than_observations(tmp_path: Path) -> None:
    """The buffer, whose number of rows follows from the first observations, gets fewer rows when actions come."""
    count, size = 4, 1_000_000  # with the rows for two bytes: 256 GiB
    actions = np.arange(2 * size, dtype=np.float32).reshape(2, size)
    with logger.BatchWriter(tmp_path, 2, autoreset="Disabled") as writer:
        writer.start(np.zeros((2, 1), np.float16))
        for number in range(count):
            writer.step(np.full((2, 1), number, np.float16), actions + number, np.zeros(2), NONE, NONE)
    episodes = {each.provenance["sub_environment"]: each for each in rlds_kit.open(tmp_path).episodes}
    for lane, episode in episodes.items():
        steps = list(episode.steps)
        assert [float(step["observation"][0]) for step in steps] == [0, *range(count)]
        for number, step in enumerate(steps[:-1]):
            np.testing.assert_array_equal(step["action"], actions[lane] + number)
    assert len(episodes) == 2


@pytest.mark.parametrize("size", [1, 1000])
def test_rows_that_are_larger_than_the_limit_of_memory(tmp_path: Path, size: int) -> None:
    """Each has a buffer of its own."""
    with logger.BatchWriter(tmp_path, 2, autoreset="NextStep", memory_limit=1) as writer:
        writer.start(np.zeros(2, np.int8))
        for number in range(1, 4):
            writer.step(np.full(2, number, np.int8), np.full((2, size), number), np.zeros(2), NONE, NONE)
    for episode in rlds_kit.open(tmp_path).episodes:
        steps = list(episode.steps)
        assert [int(step["observation"]) for step in steps] == [0, 1, 2, 3]
        assert [step["action"].tolist() for step in steps[:-1]] == [[number] * size for number in (1, 2, 3)]


def test_buffers_stay_short_once_rows_were_heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those whose first row is light, because it has no action."""
    capacities = list[int]()

    def made(lanes: int, capacity: int, *pools: Any) -> Any:
        capacities.append(capacity)
        return BatchBuffer(lanes, capacity, *pools)

    monkeypatch.setattr(batch_recorder, "BatchBuffer", made)
    with logger.BatchWriter(tmp_path, 2, autoreset="Disabled", memory_limit=1 << 20) as writer:
        for _ in range(3):
            writer.start(np.zeros((2, 1), np.float16))
            writer.step(np.zeros((2, 1), np.float16), np.zeros((2, 4000)), np.zeros(2), ~NONE, NONE)
            writer.flush()
    assert capacities[0] > 1000
    assert max(capacities[1:]) < 10
