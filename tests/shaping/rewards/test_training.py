"""Reward models are trained from preferences and from credit, and always to the same weights."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch

import rlds_kit
from rlds_kit.base import MissingExtraError
from rlds_kit.logger import write_arrays
from rlds_kit.shaping import preferences as pf
from rlds_kit.shaping import rewards as rw

QUICK = rw.Training(epochs=30, members=2, hidden=(16,))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> rlds_kit.Dataset:
    """20 episodes of 30 steps with observations in [-1, 1]^2."""
    random, path = np.random.default_rng(0), tmp_path_factory.mktemp("data") / "set"
    episodes = [
        {"observations": random.uniform(-1, 1, (31, 2)).astype(np.float32), "actions": np.zeros(30, np.int64)}
        for _ in range(20)
    ]
    write_arrays(path, episodes)
    return rlds_kit.open(path)


def judged(dataset: rlds_kit.Dataset, count: int = 120, tie: float = 0.5) -> list[rw.Pair]:
    """Comparisons by the sum of the first number of observations, with ties below a difference."""
    queries = pf.queries(pf.cut(dataset.episodes, 5), pf.Uniform(0), count)
    responses = []
    for query in queries:
        first, second = (each[:, 0].sum() for each in rw.segment_vectors(dataset.episodes, query.segments, rw.Inputs()))
        choice = pf.Choice.TIE if abs(first - second) < tie else pf.Choice.FIRST if first > second else pf.Choice.SECOND
        responses.append(pf.Response(query=query, answer=pf.Comparison(choice), annotator="simulated"))
    return rw.pairs(responses)


def test_a_model_of_preferences_finds_what_they_were_made_by(dataset: rlds_kit.Dataset) -> None:
    """Its rewards follow the first number and not the second; 0 and 1 are those of the worst and best steps."""
    pairs = judged(dataset)
    model = rw.fit_preferences(dataset.episodes, pairs, rw.Inputs(), QUICK)
    seen = np.concatenate(rw.segment_vectors(dataset.episodes, [each.first for each in pairs], rw.Inputs()))
    seen = np.concatenate([seen, *rw.segment_vectors(dataset.episodes, [each.second for each in pairs], rw.Inputs())])
    found = model.rewards(seen)
    assert np.corrcoef(found, seen[:, 0])[0, 1] > 0.95
    assert abs(np.corrcoef(found, seen[:, 1])[0, 1]) < 0.25
    assert np.quantile(found, [0.01, 0.99]) == pytest.approx([0, 1])
    assert np.isfinite(model.log_ties)
    assert model.training["pairs"] == 120


def test_without_ties_their_probability_is_zero(dataset: rlds_kit.Dataset) -> None:
    model = rw.fit_preferences(dataset.episodes, judged(dataset, 20, tie=0), rw.Inputs(), QUICK)
    assert model.log_ties == -np.inf


def test_weights_are_the_same_each_time_and_members_differ(dataset: rlds_kit.Dataset) -> None:
    """Whatever the state of other random numbers, and the number of threads, which is put back."""
    pairs, threads = judged(dataset, 20), torch.get_num_threads()
    torch.set_num_threads(3)
    torch.manual_seed(1)
    model = rw.fit_preferences(dataset.episodes, pairs, rw.Inputs(), QUICK)
    torch.manual_seed(2)
    again = rw.fit_preferences(dataset.episodes, pairs, rw.Inputs(), QUICK)
    assert rw.digest(again) == rw.digest(model)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(threads)
    other = rw.fit_preferences(dataset.episodes, pairs, rw.Inputs(), rw.Training(seed=1, epochs=30, members=2))
    assert rw.digest(other) != rw.digest(model)
    first, second = model.by_member(np.eye(2, dtype=np.float32))
    assert not np.allclose(first, second)


def test_weights_of_pairs_count(dataset: rlds_kit.Dataset) -> None:
    """Contradicting pairs that weigh nothing change nothing but the order of samples; heavy ones turn the ranking."""
    pairs = judged(dataset, 60, tie=0)
    opposite = {pf.Choice.FIRST: pf.Choice.SECOND, pf.Choice.SECOND: pf.Choice.FIRST}
    seen = np.concatenate(rw.segment_vectors(dataset.episodes, [each.first for each in pairs], rw.Inputs()))
    for weight, sign in ((0.0, 1), (20.0, -1)):
        against = [each._replace(choice=opposite[each.choice], weight=weight) for each in pairs]
        model = rw.fit_preferences(dataset.episodes, [*pairs, *against], rw.Inputs(), QUICK)
        assert sign * np.corrcoef(model.rewards(seen), seen[:, 0])[0, 1] > 0.8


def test_segments_of_different_lengths_count_their_own_steps_only(dataset: rlds_kit.Dataset) -> None:
    """Where longer segments are always better, every step is worth more than nothing on the scale of scores."""
    episodes = dataset.episodes
    long_, short = pf.Segment(episodes[0].id, range(20)), pf.Segment(episodes[1].id, range(1))
    model = rw.fit_preferences(episodes, [rw.Pair(long_, short, pf.Choice.FIRST, 1.0)], rw.Inputs(), QUICK)
    rows = rw.segment_vectors(episodes, [long_, short], rw.Inputs())
    scores = [(model.rewards(each) * model.unit + model.zero).sum() for each in rows]
    assert scores[0] - scores[1] > 3


def test_a_model_of_credit_predicts_it() -> None:
    """Least squares; steps that weigh nothing are not learned."""
    random = np.random.default_rng(0)
    vectors = random.uniform(-1, 1, (400, 2)).astype(np.float32)
    credit = 2 * vectors[:, 0] + 3
    spoiled, weights = np.where(vectors[:, 1] > 0, credit, 99.0), (vectors[:, 1] > 0).astype(np.float64)
    model = rw.fit_credit(rw.Inputs(), vectors, spoiled, weights, rw.Training(epochs=60, members=1, hidden=(16,)))
    assert np.abs(model.rewards(vectors) - credit)[vectors[:, 1] > 0].mean() < 0.2


def test_numpy_and_pytorch_compute_the_same(dataset: rlds_kit.Dataset) -> None:
    """The model that is used does not need PyTorch, and gives what was trained."""
    from rlds_kit.shaping.rewards.training import _forward, _Trained

    model = rw.fit_preferences(dataset.episodes, judged(dataset, 20), rw.Inputs(), QUICK)
    vectors = np.random.default_rng(0).uniform(-1, 1, (7, 2)).astype(np.float32)
    weights, biases = ([torch.from_numpy(each) for each in arrays] for arrays in (model.weights, model.biases))
    given = torch.from_numpy(np.broadcast_to((vectors - model.mean) / model.deviation, (2, 7, 2)).copy())
    networks = _forward(_Trained(weights, biases, torch.zeros(2, 1)), given).numpy()
    assert np.allclose((networks - model.zero) / model.unit, model.by_member(vectors), atol=1e-5)


INVALID: list[tuple[Callable[[rlds_kit.Dataset], object], type[Exception], str]] = [
    (lambda ds: rw.fit_preferences(ds.episodes, [], rw.Inputs()), ValueError, "got none"),
    (lambda ds: rw.fit_preferences(ds.episodes[:1], judged(ds), rw.Inputs()), KeyError, "there is no episode"),
    (
        lambda ds: rw.fit_preferences(ds.episodes, judged(ds), rw.Inputs(("action",), {"action": 0})),
        rlds_kit.SpecError,
        "choices",
    ),
    (lambda _: rw.fit_credit(rw.Inputs(), np.zeros((3, 2)), np.zeros(2)), ValueError, r"got .*\(2,\)"),
    (lambda _: rw.fit_credit(rw.Inputs(), np.zeros((3, 2)), np.zeros((3, 1))), ValueError, r"got .*\(3, 1\)"),
    (lambda _: rw.fit_credit(rw.Inputs(), np.zeros(3), np.zeros(3)), ValueError, r"n, width"),
    (lambda _: rw.fit_credit(rw.Inputs(), np.zeros((1, 2)), np.full(1, np.nan)), ValueError, "leave such steps out"),
    (lambda _: rw.Training(batch=0), ValueError, "expected batch of at least 1"),
    (lambda _: rw.Training(members=0), ValueError, "expected members of at least 1"),
    (lambda _: rw.Training(learning_rate=float("nan")), ValueError, "learning_rate above 0"),
    (lambda _: rw.Inputs().vectors({"observation": [[0.0], [np.nan]]}), rlds_kit.SpecError, "in step 1"),
    (lambda _: rw.Inputs().vectors({"observation": [[1e300]]}), rlds_kit.SpecError, "in step 0"),
    (lambda _: rw.Inputs(("observation",), {"action": 2}), ValueError, "which are discrete"),
    (lambda _: rw.Inputs(("action",)).vectors({"observation": [1]}), rlds_kit.SpecError, "reads this field"),
    (lambda _: rw.Inputs(("action",)).vectors({"action": ["a"]}), rlds_kit.SpecError, "expected numbers"),
]


@pytest.mark.parametrize(("make", "error", "message"), INVALID, ids=[each[2] for each in INVALID])
def test_errors_say_what_was_expected(
    dataset: rlds_kit.Dataset, make: Callable[[rlds_kit.Dataset], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(dataset)


def test_without_pytorch_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"torch is not installed: .*\[torch\]"):
        rw.fit_credit(rw.Inputs(), np.zeros((3, 2), np.float32), np.zeros(3))


def test_no_steps_have_no_vectors() -> None:
    assert rw.Inputs().vectors({"observation": np.zeros((0, 2, 3))}).shape == (0, 6)
