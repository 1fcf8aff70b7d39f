"""As recorded and as amended: the views against a plain dictionary of steps."""

import dataclasses
import pickle
import tempfile
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import layers
from rlds_kit.base.errors import SpecError
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.compare import diff
from tests.layers.recording import record
from tests.repetitions import repetitions

LENGTHS = (6, 9)
SOURCES = ("anna", "bob", "critic")
FIELDS = ("reward", "success", "mood")


@dataclasses.dataclass(frozen=True)
class Said:
    """What one draws: an amendment, or the retraction of an earlier one."""

    writer: int
    layer: int
    episode: int
    field: str
    first: int
    values: tuple[float, ...]
    stacked: bool
    confidence: float
    retracts: int | None


@st.composite
def sayings(draw: st.DrawFn) -> list[Said]:
    """Amendments and retractions by several writers, in any order."""
    found = []
    for number in range(draw(st.integers(0, 25))):
        episode = draw(st.integers(0, len(LENGTHS) - 1))
        field = draw(st.sampled_from(FIELDS))
        rows = LENGTHS[episode] - (field == "reward")
        first = draw(st.integers(0, rows - 1))
        count = draw(st.integers(1, rows - first))
        values = draw(st.lists(st.integers(-3, 3).map(float), min_size=count, max_size=count))
        found.append(
            Said(
                writer=draw(st.integers(0, 2)),
                layer=draw(st.integers(0, 1)),
                episode=episode,
                field=field,
                first=first,
                values=tuple(values),
                stacked=draw(st.booleans()),
                confidence=draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
                retracts=draw(st.none() | st.integers(0, number - 1)) if number and draw(st.booleans()) else None,
            )
        )
    return found


def write(dataset: rlds_kit.Dataset, said: list[Said]) -> None:
    """Writes the annotations: every writer of every layer has its own file."""
    ids: list[uuid.UUID] = []
    writers = {
        (writer, layer): dataset.annotator(f"layer{layer}", source=SOURCES[writer])
        for writer in range(3)
        for layer in range(2)
    }
    for each in said:
        writer = writers[each.writer, each.layer]
        if (
            each.retracts is not None
            and said[each.retracts].retracts is None
            and said[each.retracts].layer == each.layer
        ):
            for other in writers.values():
                other.flush()  # a retraction is of something that can be seen
            ids.append(writer.add(layers.retraction(ids[each.retracts])))
            continue
        value = _value(each)
        episode = dataset.episodes[each.episode]
        if each.stacked:
            draft = layers.amendments(episode, each.field, value, each.first, confidence=each.confidence)
        else:
            steps = range(each.first, each.first + len(each.values))
            draft = layers.amendment(episode, each.field, value, steps, confidence=each.confidence)
        ids.append(writer.add(draft))
    for writer in writers.values():
        writer.close()


def _value(each: Said) -> Any:
    values = [_typed(each.field, value) for value in each.values]
    return np.array(values) if each.stacked else values[0]


def _typed(field: str, value: float) -> Any:
    return {"reward": value, "success": value > 0, "mood": str(value)}[field]


def standing(said: list[Said]) -> list[Said]:
    """What was not retracted, in order."""
    gone, kept = set(), {}
    for number, each in enumerate(said):
        at = each.retracts
        if at is not None and said[at].retracts is None and said[at].layer == each.layer:
            gone.add(at)
        elif at is None or said[at].retracts is not None or said[at].layer != each.layer:
            kept[number] = dataclasses.replace(each, retracts=None)
    return [each for number, each in kept.items() if number not in gone]


def expected(said: list[Said], episode: int, field: str) -> dict[int, Any]:
    """By step: the value of an amended field."""
    by_step: dict[int, dict[int, tuple[int, float, Any]]] = defaultdict(dict)
    for number, each in enumerate(said):
        if (each.episode, each.field) == (episode, field):
            for offset in range(len(each.values)):
                value = _typed(field, each.values[offset if each.stacked else 0])
                by_step[each.first + offset][each.writer] = (number, each.confidence, value)
    found: dict[int, Any] = {}
    for step, votes in by_step.items():
        counted = [vote for vote in votes.values() if vote[1] > 0]
        if counted and field == "reward":
            total = sum(confidence for _, confidence, __ in counted)
            found[step] = sum(value * confidence for _, confidence, value in counted) / total
        elif counted:
            found[step] = max(counted)[2]
    return found


@pytest.mark.sweep
@given(sayings())
@settings(max_examples=repetitions(60, least=24))
def test_views_show_the_annotations(said: list[Said]) -> None:
    """Values are amended where an annotation is effective, else as recorded, for any sources and retractions."""
    check(said)


def check(said: list[Said]) -> None:
    """Compares both views with the oracle, field by field, step by step, and in what loaders give."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = record(Path(folder, "d"), LENGTHS)
        write(dataset, said)
        names = dataset.layers
        amended = dataset.as_amended(*names) if names else dataset
        count = standing(said)
        for number, length in enumerate(LENGTHS):
            episode, plain = amended.episodes[number], dataset.episodes[number]
            for field in FIELDS:
                truth = expected(count, number, field)
                for step in range(length):
                    want = truth.get(step, plain.steps[step].get(field))
                    if step in truth or plain.steps[step].get(field) is not None:
                        assert (
                            episode.steps[step][field] == pytest.approx(want)
                            if field == "reward"
                            else (episode.steps[step][field] == want)
                        )
                if truth or field in plain.fields:
                    mask = episode.mask(field)
                    recorded = plain.mask(field) if field in plain.fields else np.zeros(length, np.bool_)
                    assert mask.tolist() == [bool(recorded[step]) or step in truth for step in range(length)]
            assert np.array_equal(episode["observation"], plain["observation"])
            assert np.array_equal(plain["reward"][:-1], 100 + np.arange(length - 1))
        again = pickle.loads(pickle.dumps(amended))  # noqa: S301  our own
        for view in (amended, again):
            batch = next(iter(view.select("reward", "success").windows(3).batches(8)))
            for row, (number, step) in enumerate(zip(batch["episode"], batch["step"], strict=True)):
                part = amended.episodes[int(number)][int(step) : int(step) + 3]
                assert np.array_equal(batch["reward"][row], part["reward"])
                assert np.array_equal(batch["success"][row], part["success"])
        assert np.array_equal(amended.as_recorded().episodes[0]["reward"], dataset.episodes[0]["reward"])


def test_a_rule_of_ones_own(tmp_path: Path) -> None:
    """`rules` determines by field how several sources are combined; `votes` returns the value of each."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    for source, value in (("anna", 1.0), ("bob", 5.0)):
        dataset.annotate("h", [layers.reward(episode, value, 2)], source=source, confidence=0.5)

    def highest(annotations: Any, length: int) -> Any:
        steps, values, _ = layers.votes(annotations, length)
        return steps, values.max(axis=0)

    def rewards(rule: layers.Rule) -> float:
        return float(dataset.as_amended("h", rules={"reward": rule}).episodes[0]["reward"][2])

    assert dataset.as_amended("h").episodes[0]["reward"].tolist() == [100.0, 101.0, 3.0, 103.0, 104.0, 0.0]
    assert [rewards(rule) for rule in (layers.weighted_sum, layers.latest, highest)] == [3.0, 5.0, 5.0]
    values, mask = dataset.layer("h").rewards(episode)
    assert (values.tolist(), mask.tolist()) == ([0, 0, 3.0, 0, 0, 0], [False, False, True, False, False, False])


def test_values_get_the_dtype_of_their_field(tmp_path: Path) -> None:
    """Floats are rounded to it; a number that the field cannot hold is an error that says what to do."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    dataset.annotate("a", [layers.amendment(episode, "observation", [0.1, 7], 0)], source="me")
    dataset.annotate("b", [layers.amendment(episode, "action", 2.5, 0)], source="me")
    dataset.annotate("c", [layers.amendment(episode, "observation", np.array([0.1, 7]), 0)], source="me")
    with pytest.raises(SpecError, match="another kind or shape"):
        dataset.as_amended("a").episodes[0]["observation"]
    with pytest.raises(SpecError, match="action: expected"):
        dataset.as_amended("b").episodes[0]["action"]
    found = dataset.as_amended("c").episodes[0]["observation"]
    assert (found.dtype, found[0].tolist()) == (np.float32, [np.float32(0.1), 7.0])


def test_amended_numbers_have_the_type_of_the_amendment(tmp_path: Path) -> None:
    """A number stays a NumPy scalar and a 0-d array stays an array, both in the dtype of the field."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    dataset.annotate("h", [layers.reward(episode, 7.0, 1)], source="anna")
    dataset.annotate("h", [layers.amendment(episode, "reward", np.array(8, np.int8), 2)], source="anna")
    steps = dataset.as_amended("h", rules={"reward": layers.latest}).episodes[0].steps
    assert [type(steps[number]["reward"]) for number in (0, 1, 2)] == [np.float64, np.float64, np.ndarray]
    assert (steps[2]["reward"].dtype, steps[2]["reward"].shape) == (np.float64, ())


def test_who_does_not_want_a_misfit_need_not_care(tmp_path: Path) -> None:
    """An annotator's slip is named where its field is read, and spoils nothing else."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    dataset.annotate("h", [layers.amendment(episode, "observation", "left", 1)], source="bob")
    dataset.annotate("h", [layers.reward(episode, 7.0, 1)], source="anna")
    view = dataset.as_amended()
    assert view.episodes[0]["reward"].tolist() == [100.0, 7.0, 102.0, 103.0, 104.0, 0.0]
    assert next(iter(view.select("reward").windows(6).batches(1)))["reward"][0, 1] == 7.0
    assert view.episodes[1]["observation"].shape == (9, 2)
    for read in (
        lambda: view.episodes[0]["observation"],
        lambda: view.episodes[0].steps[0],
        lambda: list(view.windows(6).batches(1)),
        lambda: list(view.source().reader(0).blocks(0, 6, lambda _: True)),
    ):
        with pytest.raises(SpecError, match=f"episode {episode.id}: observation: .*reported by bob"):
            read()


def test_a_part_of_what_has_no_parts_is_refused(tmp_path: Path) -> None:
    """An array is amended as a whole."""
    dataset = record(tmp_path / "d")
    dataset.annotate("h", [layers.amendment(dataset.episodes[0], "observation/x", 1, 2)], source="anna")
    with pytest.raises(SpecError, match="amend observation as a whole"):
        dataset.as_amended("h").episodes[0]["observation"]


Made = tuple[Any, Any] | None


@pytest.mark.parametrize(
    "made",
    [
        (np.array([99]), np.array([1.0])),
        (np.array([5]), np.array([1.0])),  # the last step has no action
        (np.array([-1]), np.array([1.0])),
        (np.array([1, 0]), np.array([1.0, 2.0])),
        (np.array([1, 1]), np.array([1.0, 2.0])),
        (np.array([1]), np.array([1.0, 2.0])),
        (np.array([1.0]), np.array([1.0])),
        None,
    ],
)
def test_what_a_rule_of_ones_own_gives_is_checked(tmp_path: Path, made: Made) -> None:
    """Steps that are not there, twice, or in disorder would give silently wrong values."""

    def rule(_: Any, __: int) -> Any:
        return made

    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    dataset.annotate("h", [layers.reward(episode, 7.0, 1)], source="anna")
    with pytest.raises(SpecError, match=r"expected of the rule .* ascending steps from 0 to 4 and one value for each"):
        dataset.as_amended("h", rules={"reward": rule}).episodes[0]["reward"]
    with pytest.raises(SpecError, match="ascending steps"):
        dataset.layer("h").rewards(episode, rule)


def test_a_rule_for_no_field_is_refused(tmp_path: Path) -> None:
    """A slip in its name would give another rule's values."""
    dataset = record(tmp_path / "d")
    dataset.annotate("h", [layers.reward(dataset.episodes[0], 7.0, 1)], source="anna")
    with pytest.raises(KeyError, match="no layer amends a field 'rewards', for which there is a rule"):
        dataset.as_amended("h", rules={"rewards": layers.latest})


def test_huge_rewards_have_a_mean(tmp_path: Path) -> None:
    """Their sum would not be finite."""
    dataset = record(tmp_path / "d")
    for source in ("anna", "bob"):
        dataset.annotate("h", [layers.reward(dataset.episodes[0], 1e308, 1)], source=source)
    assert dataset.as_amended("h").episodes[0]["reward"][1] == 1e308


def test_diff_reads_views(tmp_path: Path) -> None:
    """Digests are of what was recorded; a view differs where it was amended, and from itself nowhere."""
    dataset = record(tmp_path / "d")
    dataset.annotate("h", [layers.reward(dataset.episodes[0], 7.0, 1)], source="anna")
    view = dataset.as_amended("h")
    assert (dataset.amended_by, view.amended_by) == ((), ("h",))
    assert [(each.field, each.count) for each in diff(dataset, view).fields] == [("reward", 1)]
    assert diff(view, view).equal


def test_a_part_of_a_nest_is_amended_alone(tmp_path: Path) -> None:
    """What stands beside it stays; what was recorded as one value has no parts."""
    with EpisodeWriter(tmp_path / "d") as writer, writer.episode() as going:
        going.start(0, info={"lives": 3, "deep": {"x": 1.0}})
        going.step(action=0, reward=0.0, observation=1, terminated=True, info={"lives": 2, "deep": {"x": 2.0}})
    dataset = rlds_kit.open(tmp_path / "d")
    episode = dataset.episodes[0]
    dataset.annotate("a", [layers.amendment(episode, "info/deep/x", 5.0, 1)], source="me")
    amended = dataset.as_amended("a")
    assert amended.episodes[0].steps[1]["info"] == {"lives": 2, "deep": {"x": 5.0}}
    assert amended.episodes[0].steps[0]["info"] == {"lives": 3, "deep": {"x": 1.0}}
    assert amended.select("info/deep/x").episodes[0]["info/deep/x"].tolist() == [1.0, 5.0]
    dataset.annotate("b", [layers.amendment(episode, "info", {"new": "y"}, 1)], source="me")
    assert dataset.as_amended("b").episodes[0].steps[1]["info"] == {"new": "y"}


def test_a_view_does_not_change(tmp_path: Path) -> None:
    """Later annotations are in a view made by `refresh`, and in `layer`."""
    dataset = record(tmp_path / "d")
    episode = dataset.episodes[0]
    dataset.annotate("h", [layers.reward(episode, 1.0, 0)], source="anna")
    view, before = dataset.as_amended("h"), dataset.layer("h")
    dataset.annotate("h", [layers.reward(episode, 2.0, 1)], source="bob")
    assert view.episodes[0]["reward"][:2].tolist() == [1.0, 101.0]
    assert view.refresh().episodes[0]["reward"][:2].tolist() == [1.0, 2.0]
    assert (len(before), len(dataset.layer("h"))) == (1, 2)


def test_tags_choose_episodes(tmp_path: Path) -> None:
    """By the label of a step or of the whole, in some layers or all."""
    dataset = record(tmp_path / "d", (4, 4, 4))
    dataset.annotate("a", [layers.tag(dataset.episodes[2][1:3], "good")], source="anna")
    dataset.annotate("b", [layers.tag(dataset.episodes[0], "good")], source="anna")
    assert [each.metadata["number"] for each in dataset.tagged("good").episodes] == [0, 2]
    assert [each.metadata["number"] for each in dataset.tagged("good", "a").episodes] == [2]
    assert dataset.layer("a").tagged(dataset.episodes[2], "good").tolist() == [False, True, True, False]
    assert dataset.layer("a").tagged(dataset.episodes[2][2:], "good").tolist() == [True, False]
    assert (dataset.episodes[2].tags, dataset.episodes[2][3:].tags, dataset.episodes[1].tags) == (("good",), (), ())
    assert dataset.layer("b").tagged(dataset.episodes[0], "good").all()


@pytest.mark.parametrize("extra", ["", "score"])
def test_transitions_have_amended_rewards(tmp_path: Path, extra: str) -> None:
    """Sums of rewards are those of the view; a field that only amendments have can be selected."""
    dataset = record(tmp_path / "d", (5,))
    episode = dataset.episodes[0]
    said = [layers.rewards(episode, [1.0, 2.0], 1), layers.amendments(episode, "score", np.arange(5.0))]
    dataset.annotate("h", said, source="critic")
    view = dataset.as_amended("h")
    if extra:
        view = view.select("reward", "score")
    batch = next(iter(view.transitions(2).batches(8)))
    assert batch["reward"].tolist() == [101.0, 3.0, 105.0, 103.0]
    assert ("score" in batch) == bool(extra)
    assert view.as_recorded().episodes[0]["reward"][:4].tolist() == [100.0, 101.0, 102.0, 103.0]


def test_rewards_of_agents_are_amended_one_by_one(tmp_path: Path) -> None:
    """The rewards of one agent from several sources become their mean; those of other agents do not change."""
    with EpisodeWriter(tmp_path / "d") as writer, writer.episode() as going:
        going.start({"a": 0, "b": 0})
        last = {"a": 1, "b": 1}
        going.step(action={"a": 0, "b": 0}, reward={"a": 1.0, "b": 2.0}, observation=last, terminated=True)
    dataset = rlds_kit.open(tmp_path / "d")
    for source, value in (("anna", 3.0), ("bob", 5.0)):
        dataset.annotate("h", [layers.amendment(dataset.episodes[0], "reward/a", value, 0)], source=source)
    assert dataset.as_amended("h").episodes[0].steps[0]["reward"] == {"a": 4.0, "b": 2.0}
    batch = next(iter(dataset.as_amended("h").transitions().batches(1)))
    assert batch["reward"]["a"].tolist() == [4.0]
    assert batch["reward"]["b"].tolist() == [2.0]
