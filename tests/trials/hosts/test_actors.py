"""Actors in trials: they act, fail, talk, judge and learn, in processes of their own."""

import asyncio
import importlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import rlds_kit
from rlds_kit.trials import ActorConfig, FinishedTrial, Status, Text, TrialHost, TrialSetup, register, run_trials
from tests.trials.actors import odd_actors
from tests.trials.hosts.running import corridor, odd, pennies, run, seats, steps


def played(setup: TrialSetup, directory: Path | None = None, **options: Any) -> FinishedTrial:
    """A trial that ran."""
    (trial,) = run_trials([setup], directory=directory, parallel=1, **options)
    return trial


def test_g2_g4_implementations_are_chosen_by_name_for_each_trial(tmp_path: Path) -> None:
    """A class, a function, a coroutine and a built-in one, with no change of the environment; the record names them."""
    register("ours", odd_actors.Right)
    names = (odd("Right"), odd("left"), odd("Later"), "random", "ours", odd_actors.Right)
    trials = list(run_trials([corridor(name, max_steps=2) for name in names], directory=tmp_path, parallel=1))
    assert [trial.status for trial in trials] == [Status.COMPLETED] * 6
    recorded = [steps(tmp_path, number)[0]["play"]["seats"]["player"] for number in range(6)]
    assert [each["implementation"] for each in recorded] == [
        *(f"{odd_actors.__name__}:{name}" for name in ("Right", "left", "Later")),
        "random",
        "ours",
        f"{odd_actors.__name__}:Right",
    ]
    assert [each["version"] for each in recorded] == ["7", "", "7", rlds_kit.__version__, "7", "7"]
    assert [int(step["action"]) for number in (0, 1) for step in steps(tmp_path, number)] == [1, 1, 0, 0]


def test_g2_an_actor_is_swapped_in_mid_trial(tmp_path: Path) -> None:
    """The next action is the new one's; each step names who acted."""

    async def play() -> FinishedTrial:
        async with TrialHost(tmp_path, parallel=1) as host:
            trial = await host.start(corridor(odd("Silent"), max_steps=4))
            async for state in host.watch():
                if state.step == 1:
                    break
            await host.swap(trial, "player", odd("left"))
            return await host.result(trial)

    assert run(play).status is Status.COMPLETED
    names = [step["play"]["seats"]["player"]["implementation"].rpartition(":")[2] for step in steps(tmp_path)]
    assert names == ["Silent", "left", "left", "left"]


class Clinging(odd_actors.Right):
    """Does not act, and takes its time to stop; events of one test."""

    acts, stops, may_stop = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        """Until it is cancelled, and may stop."""
        self.acts.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stops.set()
            await self.may_stop.wait()


class Ended(odd_actors.Right):
    """Notes that its trial ended."""

    count = 0

    def end(self) -> None:
        """It did."""
        Ended.count += 1


def test_an_actor_that_is_swapped_in_as_its_trial_ends_is_ended_too() -> None:
    """Else a program elsewhere would wait for its turn for ever."""

    async def test() -> None:
        async with TrialHost(is_here=True, parallel=1) as host:
            trial = await host.start(corridor(ActorConfig(implementation=Clinging), answer_seconds=300.0))
            await Clinging.acts.wait()
            swapping = asyncio.create_task(host.swap(trial, "player", ActorConfig(implementation=Ended)))
            await Clinging.stops.wait()
            host.end(trial, is_hard=True)
            await host.result(trial)
            Clinging.may_stop.set()
            with pytest.raises(ValueError, match="the trial is over"):
                await swapping

    run(test)
    assert Ended.count == 1


def test_g3_each_seat_has_spaces_of_its_own(tmp_path: Path) -> None:
    """An actor gets the observation of its seat; an action of another seat's space is none."""
    importlib.import_module("pettingzoo")
    spec = rlds_kit.trials.EnvironmentSpec(
        "tests.trials.environments.unequal_agents:UnequalAgents", interface="pettingzoo"
    )
    setup = TrialSetup(environment=spec, actors={"crane_0": "random", "crane_1": "random", "clerk": "random"}, seed=1)
    assert played(setup, tmp_path).status is Status.COMPLETED
    first = steps(tmp_path)[0]
    assert first["action"]["crane_0"].shape == (2,)
    assert first["action"]["clerk"] in {0, 1, 2}
    wrong = TrialSetup(environment=spec, actors={**setup.actors, "crane_0": odd("Right")})
    assert "crane_0: expected an action in Box" in played(wrong).reason


@pytest.mark.parametrize("is_here", [False, True])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Raising", "RuntimeError: it stumbled"),
        ("Outside", "expected an action in Discrete(2), got 99"),
        ("Unmade", "RuntimeError: it has no shoes"),
        ("Missing", "has no attribute 'Missing'"),
    ],
)
def test_g7_a_required_actor_that_fails_ends_its_trial_with_the_reason(name: str, reason: str, is_here: bool) -> None:
    trial = played(corridor(odd(name)), is_here=is_here)
    assert trial.status is Status.ABANDONED
    assert reason in trial.reason


@pytest.mark.parametrize(("name", "reason"), [("Dying", "ended with code 3"), ("Silent", "gave no action in time")])
def test_g7_a_process_that_dies_or_hangs_ends_its_trial_and_no_other(name: str, reason: str, tmp_path: Path) -> None:
    """What was done is recorded; trials beside it go on, and the same host has further ones."""
    setups = [corridor(odd(name), answer_seconds=1.0), *[corridor()] * 3, corridor(odd(name), answer_seconds=1.0)]
    trials = {trial.number: trial for trial in run_trials(setups, directory=tmp_path, parallel=2)}
    for number in (0, 4):
        assert (trials[number].status, trials[number].steps) == (Status.ABANDONED, 1)
        assert reason in trials[number].reason
    assert [trials[number].status for number in (1, 2, 3)] == [Status.COMPLETED] * 3
    assert sorted(episode.length for episode in rlds_kit.open(tmp_path).episodes) == [2, 2, 4, 4, 4]


@pytest.mark.parametrize("name", ["Silent", "SilentTogether"])
def test_g7_the_process_of_an_actor_that_hangs_is_not_used_again(name: str) -> None:
    silent = corridor(odd(name), answer_seconds=1.0)
    trials = list(run_trials([silent] * 2, parallel=1, start_seconds=20.0))
    assert [trial.reason for trial in trials] == ["player gave no action in time"] * 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Dying", [("actor", False), ("nobody", True), ("nobody", True)]),
        ("Raising", [("actor", False), ("nobody", True), ("nobody", True)]),
        ("Silent", [("actor", False), ("nobody", True), ("nobody", True)]),
        ("Outside", [("actor", False), ("actor", True), ("actor", False)]),
        ("Unmade", [("nobody", True)] * 3),
    ],
)
def test_g7_an_optional_actor_that_fails_does_its_default_action(
    name: str, expected: list[tuple[str, bool]], tmp_path: Path
) -> None:
    """The trial goes on to its end, and each step says whether the action was the default one."""
    actor = odd(name, is_required=False, default_action=0)
    trial = played(corridor(actor, max_steps=3, answer_seconds=1.0), tmp_path)
    assert (trial.status, trial.steps) == (Status.COMPLETED, 3)
    assert seats(tmp_path) == expected
    assert [int(step["action"]) for step in steps(tmp_path)] == [0 if is_default else 1 for _, is_default in expected]


def test_g7_an_optional_actor_needs_a_default_action() -> None:
    """Within its space; the trial is refused before anything begins."""
    for default in (None, 5):
        trial = played(corridor(odd("Right", is_required=False, default_action=default)))
        assert isinstance(trial.error, ValueError)
        assert "expected a default_action in Discrete(2)" in trial.reason


@pytest.mark.parametrize("is_here", [False, True])
def test_g16_messages_reach_other_seats_and_are_recorded(is_here: bool, tmp_path: Path) -> None:
    """With the next request of those they are for; in the order of seats, whoever was faster."""
    trial = played(pennies(odd("Talking"), odd("Talking")), tmp_path, is_here=is_here)
    assert trial.status is Status.COMPLETED
    said = [step["play"].get("said", []) for step in steps(tmp_path)]
    assert [[(each["sender"], each["to"], each["content"]) for each in step] for step in said[:2]] == [
        [("odd", ["even"], "<odd1 heard "), ("even", ["odd"], "<even1 heard ")],
        [("odd", ["even"], "<odd2 heard even:1"), ("even", ["odd"], "<even2 heard odd:1")],
    ]


def test_g12_actors_judge_any_step_of_any_seat(tmp_path: Path) -> None:
    """Their rewards are a layer beside those of the environment."""
    assert played(pennies(odd("Judging")), tmp_path).status is Status.COMPLETED
    dataset = rlds_kit.open(tmp_path)
    given = dataset.layer("judgements").annotations(dataset.episodes[0])
    assert [(each.source, each.field, each.value, each.confidence) for each in given] == [
        ("odd", f"reward/{seat}", value, 0.5) for value in (2.0, 3.0, 4.0) for seat in ("odd", "even")
    ]


def test_g12_the_environment_and_several_others_reward_one_step(tmp_path: Path) -> None:
    """All of it is kept: what the environment gave, and each source with its confidence and its data."""

    async def play() -> None:
        async with TrialHost(tmp_path, parallel=1) as host:
            trial = await host.start(pennies())
            await host.result(trial)
            for source, value, confidence in (("ann", 1.0, 0.75), ("bob", -1.0, 0.25)):
                details = {"why": [source]}
                await host.reward(trial, "odd", value, source=source, confidence=confidence, step=2, details=details)

    run(play)
    dataset = rlds_kit.open(tmp_path)
    given = dataset.layer("judgements").annotations(dataset.episodes[0])
    assert [(each.source, each.value, each.confidence, each.user_data["why"]) for each in given] == [
        ("ann", 1.0, 0.75, ["ann"]),
        ("bob", -1.0, 0.25, ["bob"]),
    ]
    assert dataset.episodes[0].steps[1]["reward"]["odd"] == 1.0
    assert dataset.as_amended("judgements").episodes[0].steps[1]["reward"]["odd"] == 0.5


@pytest.mark.parametrize("is_here", [False, True])
def test_g15_learners_get_each_step_and_each_new_aggregate(is_here: bool, tmp_path: Path) -> None:
    """Before they act again; an aggregate names its step, however old that is."""
    file = tmp_path / "learnt.json"
    setup = pennies(odd("Learning", config={"file": str(file)}), odd("Judging"))
    assert played(setup, is_here=is_here).status is Status.COMPLETED
    learnt = json.loads(file.read_text("utf-8"))
    experiences = [each for each in learnt if len(each) == 6]
    assert [(each[1], each[4]) for each in experiences] == [(1, False), (1, False), (1, False), (1, True)]
    assert all(before[3] == after[0] for before, after in itertools.pairwise(experiences))
    assert [each for each in learnt if len(each) == 2] == [[1, 2.0], [1, 2.5]]


def test_learners_are_told_which_action_was_the_default_one(tmp_path: Path) -> None:
    """It is what was done, and not what the actor gave."""
    file = tmp_path / "learnt.json"
    config = {"file": str(file), "second": 99}
    assert played(corridor(odd("Learning", config=config, is_required=False, default_action=0))).steps == 5
    learnt = json.loads(file.read_text("utf-8"))
    assert [(each[1], each[5]) for each in learnt] == [(1, False), (0, True), (1, False), (1, False), (1, False)]


def test_actors_that_act_together_share_a_process(tmp_path: Path) -> None:
    """Those of several trials are asked at once, and each gets its own action."""
    file = tmp_path / "batches.txt"
    setups = [corridor(odd("Together", config={"file": str(file), "action": action})) for action in (1, 0, 1, 0)]
    trials = list(run_trials(setups, directory=tmp_path / "data", parallel=4))
    assert [trial.status for trial in trials] == [Status.COMPLETED] * 4
    assert sorted(trial.totals["player"] for trial in trials) == [-6.0, -6.0, 6.0, 6.0]
    processes, sizes = zip(*(line.split() for line in file.read_text("utf-8").splitlines()), strict=True)
    assert len(set(processes)) == 1
    assert max(map(int, sizes)) > 1


def test_what_cannot_be_sent_to_a_process_is_an_error_that_says_so() -> None:
    trial = played(corridor(ActorConfig(implementation=lambda *_: 1)))
    assert trial.status is Status.ABANDONED
    assert "define it in a module" in trial.reason
    assert played(corridor(ActorConfig(implementation=lambda *_: 1)), is_here=True).status is Status.COMPLETED


def test_g2_other_packages_bring_actors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As entry points of a distribution that is installed, with its version."""
    package = tmp_path / "packages"
    info = package / "striders-3.1.dist-info"
    info.mkdir(parents=True)
    (package / "striders.py").write_text("def stride(observation, reward, messages):\n    return 1\n", "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: striders\nVersion: 3.1\n", "utf-8")
    (info / "entry_points.txt").write_text("[rlds_kit.actors]\nstrider = striders:stride\n", "utf-8")
    monkeypatch.syspath_prepend(str(package))
    assert played(corridor("strider"), tmp_path / "data").status is Status.COMPLETED
    recorded = steps(tmp_path / "data")[0]["play"]["seats"]["player"]
    assert (recorded["implementation"], recorded["version"]) == ("strider", "3.1")


def test_a_name_of_an_actor_is_given_once() -> None:
    with pytest.raises(ValueError, match="expected a name that no implementation has, got 'random'"):
        register("random", odd_actors.Right)
