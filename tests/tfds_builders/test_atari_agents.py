"""Agents that play Atari games: what `tfds.load` gives is what the Arcade Learning Environment emitted."""

import doctest
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ale_py")
pytest.importorskip("tensorflow_datasets")

import ale_py
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit.tfds_builders.atari_agents import (
    atari_agents_dataset_builder,
    cross_entropy,
    evaluate,
    games,
    linear_policy,
    policy,
    recording,
    scripted,
    train,
    training,
)
from rlds_kit.tfds_builders.atari_agents.atari_agents_dataset_builder import AtariAgentsConfig, Builder
from rlds_kit.tfds_builders.atari_agents.games import GAMES, env_id, make_env
from rlds_kit.tfds_builders.atari_agents.linear_policy import Features, LinearPolicy, checkpoint
from rlds_kit.tfds_builders.atari_agents.recording import Season, policies, record
from rlds_kit.tfds_builders.atari_agents.scripted import SCRIPTED

SAMPLE = Path(__file__).parents[1] / "data" / "atari_agents"
SAMPLE_SEASON = Season("breakout", episodes=1, max_steps=60)
FOR_TWO = {"combat", "joust", "maze_craze", "warlords"}
STEPS = 20
# Screens of four heights, from 3 to 18 actions.
PLAYED = (
    *("adventure", "breakout", "carnival", "freeway", "journey_escape", "ms_pacman", "pong", "pooyan", "qbert"),
    *("space_invaders", "tic_tac_toe_3d", "video_pinball"),
)
LEARNED = [game for game in GAMES if checkpoint(game) is not None]
EVALUATED = range(500, 506)


def tiny(game: str) -> AtariAgentsConfig:
    """A config of one short episode for each policy."""
    return AtariAgentsConfig(name=f"{game}_tiny", season=Season(game, episodes=1, max_steps=STEPS, seed=3))


class AtariAgentsTest(tfds.testing.DatasetBuilderTestCase):  # type: ignore[misc]  # no types
    """What TFDS itself demands of a dataset."""

    DATASET_CLASS = Builder
    SPLITS = {"train": 2}  # noqa: RUF012  TFDS's
    BUILDER_CONFIG_NAMES_TO_TEST = [tiny("alien"), tiny("pooyan")]  # noqa: RUF012  TFDS's
    EXAMPLE_DIR = SAMPLE


@pytest.mark.thorough
@pytest.mark.parametrize("game", PLAYED)
def test_what_is_loaded_is_what_ale_emitted(game: str, tmp_path: Path) -> None:
    """Replaying the actions with the seed reproduces every screen, memory state, reward and flag, bit for bit."""
    builder = tfds.builder("atari_agents", config=tiny(game), data_dir=tmp_path)
    builder.download_and_prepare()
    episodes = list(
        builder.as_dataset(split="train", decoders={"steps": tfds.decode.SkipDecoding()}).as_numpy_iterator()
    )
    assert [episode["policy"].decode() for episode in episodes] == list(policies(game))
    env = make_env(game)
    for episode in episodes:
        steps = episode["steps"]
        assert steps["is_first"].tolist() == [True] + [False] * (len(steps["is_first"]) - 1)
        for row, emitted in enumerate(replayed(env, int(episode["seed"]), steps["action"][:-1])):
            for name, value in emitted.items():
                np.testing.assert_array_equal(steps[name][row], value, strict=True, err_msg=f"{name} of step {row}")
        assert episode["score"] == steps["reward"].sum()
    env.close()


def replayed(env: Any, seed: int, actions: np.ndarray) -> Iterator[dict[str, Any]]:
    """What the environment emits, in the alignment of our steps."""
    ale = env.unwrapped.ale
    observation, _ = env.reset(seed=seed)
    for action in actions:
        before = {"observation": observation, "ram": ale.getRAM(), "lives": np.int64(ale.lives())}
        observation, reward, terminated, _, _ = env.step(action)
        yield before | {
            "action": action,
            "reward": np.float64(reward),
            "discount": np.float64(0.0 if terminated else 1.0),
        }
    yield {"observation": observation, "ram": ale.getRAM(), "lives": np.int64(ale.lives()), "is_last": np.bool_(True)}


def test_steps_are_loaded_one_by_one(tmp_path: Path) -> None:
    """Without decoders an episode has a dataset of steps, as RLDS has it, and `as_data_source` gives the same."""
    builder = tfds.builder("atari_agents", config=tiny("pong"), data_dir=tmp_path)
    builder.download_and_prepare()
    source = builder.as_data_source(split="train")
    for number, episode in enumerate(tfds.as_numpy(builder.as_dataset(split="train"))):
        steps = list(episode["steps"])
        assert len(steps) == STEPS + 1
        for ours, theirs in zip(steps, source[number]["steps"], strict=True):
            np.testing.assert_equal(dict(ours), dict(theirs))


def test_same_season_has_the_same_content(tmp_path: Path) -> None:
    """A season that is recorded twice has equal digests; another seed gives other episodes."""
    digests = []
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        record(Season("breakout", episodes=1, max_steps=30, seed=seed), tmp_path / name)
        digests.append(rlds_kit.open(tmp_path / name).content_digest)
    assert digests[0] == digests[1] != digests[2]


def test_committed_sample_is_recorded_again(tmp_path: Path) -> None:
    """The sample in the repository is read, and its season still has the same content with the same version of ALE."""
    sample = rlds_kit.open(SAMPLE / "breakout")
    assert [episode.metadata["policy"] for episode in sample.episodes] == ["random", "sticky", "scripted", "learned"]
    assert sample.episodes[0]["observation"].shape == (61, 210, 160, 3)
    if sample.episodes[0].provenance["versions"]["ale_py"] != importlib.metadata.version("ale-py"):
        pytest.skip("another version of ALE may play differently")
    record(SAMPLE_SEASON, tmp_path)
    again = {episode.metadata["policy"]: episode.content_digest for episode in rlds_kit.open(tmp_path).episodes}
    assert {each.metadata["policy"]: each.content_digest for each in sample.episodes} == again


def test_games_are_those_of_ale() -> None:
    """The list has every ROM that one player can play, by the name and with the id that ALE gives it."""
    from ale_py import roms

    assert set(GAMES) == set(roms.get_all_rom_ids()) - FOR_TWO
    assert len(GAMES) == 104
    import gymnasium

    gymnasium.register_envs(ale_py)
    assert {env_id(game) for game in GAMES} == {name for name in gymnasium.registry if name.startswith("ALE/")}


def test_every_game_has_two_configs() -> None:
    """A game's name is its small config; `_large` is the larger one, and other sizes are configs of one's own."""
    assert {*Builder.builder_configs} == {*GAMES} | {f"{game}_large" for game in GAMES}
    small, large = (Builder.builder_configs[name].season for name in ("breakout", "breakout_large"))
    assert small.game == large.game == "breakout"
    assert small.episodes < large.episodes


def test_unknown_game_is_refused() -> None:
    """A game that is none is refused with the form of names."""
    with pytest.raises(ValueError, match="'ms_pacman', got 'MsPacman'"):
        make_env("MsPacman")


def test_import_registers_and_does_nothing_else() -> None:
    """After the import TFDS knows both datasets; neither ALE nor TensorFlow was loaded."""
    code = (
        "import sys, rlds_kit.tfds_builders, tensorflow_datasets as tfds\n"
        "loaded = sys.modules.keys() & {'ale_py', 'tensorflow', 'torch'}\n"
        "print(*loaded, *(tfds.builder_cls(name).name for name in ('atari_agents', 'atari_human')))"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(rlds_kit.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.returncode) == (["atari_agents", "atari_human"], 0), done.stderr


def test_returns_are_those_of_the_actions_and_seeds() -> None:
    """Each episode is played with its own seed until it ends, and every reward counts."""
    taken: list[list[int]] = []

    def noting(actions: int, rng: np.random.Generator) -> policy.Act:
        play = policy.random(actions, rng)
        taken.append([])

        def act(ram: np.ndarray) -> int:
            taken[-1].append(play(ram))
            return taken[-1][-1]

        return act

    found = evaluate.returns("breakout", noting, (3, 4, 3), max_steps=150)
    env = make_env("breakout", 150, obs_type="ram")
    for seed, score, actions in zip((3, 4, 3), found, taken, strict=True):
        env.reset(seed=seed)
        steps = [env.step(action)[1:4] for action in actions]
        assert [terminated or truncated for _, terminated, truncated in steps] == [False] * (len(steps) - 1) + [True]
        assert score == sum(float(reward) for reward, _, _ in steps)
    env.close()
    assert (found.dtype.name, found.shape) == ("float64", (3,))
    assert found.max() > 0
    assert taken[0] == taken[2]
    assert len(taken[0]) < len(taken[1]) == 150, "the first one ends by itself, the second one at the limit"


@pytest.mark.thorough
@pytest.mark.parametrize("game", sorted(SCRIPTED))
def test_scripted_policies_beat_random(game: str) -> None:
    """The rules that a person wrote play better than chance by more than three standard errors."""
    assert_beats_random(game, SCRIPTED[game], max_steps=1_000)


def test_two_games_have_learned_policies() -> None:
    """There are checkpoints for two games or more, of a few kilobytes."""
    assert len(LEARNED) >= 2
    sizes = [path.stat().st_size for path in (Path(linear_policy.__file__).parent / "checkpoints").glob("*.npz")]
    assert len(sizes) == len(LEARNED)
    assert max(sizes) < 20_000


@pytest.mark.thorough
@pytest.mark.parametrize("game", LEARNED)
def test_learned_policies_beat_random(game: str) -> None:
    """The committed checkpoint plays whole episodes better than chance by more than three standard errors."""
    learned = checkpoint(game)
    assert learned is not None
    assert_beats_random(game, learned)


def assert_beats_random(game: str, player: policy.Policy, max_steps: int | None = None) -> None:
    """The difference of the mean scores is more than three standard errors of it."""
    ours = evaluate.returns(game, player, EVALUATED, max_steps)
    chance = evaluate.returns(game, policy.random, EVALUATED, max_steps)
    error = np.sqrt((ours.var(ddof=1) + chance.var(ddof=1)) / len(EVALUATED))
    assert ours.mean() - chance.mean() > 3 * error, (ours, chance)


@pytest.mark.thorough
def test_training_is_repeatable(tmp_path: Path) -> None:
    """The same arguments train the same policy, and a checkpoint plays as the policy that was saved."""
    short = training.Training(cross_entropy.Search(population=3, elite=1, generations=2), steps=20)
    one, two = (training.train_policy("pong", short, seed=5) for _ in range(2))
    np.testing.assert_array_equal(one.weights, two.weights)
    one.save(tmp_path / "pong.npz")
    with np.load(tmp_path / "pong.npz") as stored:
        np.testing.assert_array_equal(stored["weights"], one.weights)


def test_policy_of_another_game_is_refused() -> None:
    """A policy for three actions does not play a game of six."""
    policy_of_three = LinearPolicy(Features.of(np.eye(128, dtype=np.uint8)), np.zeros((3, 129), np.float32))
    with pytest.raises(ValueError, match="trained with 3 actions, the game has 6"):
        policy_of_three(6, np.random.default_rng(0))


@pytest.mark.slow
def test_training_beats_random(tmp_path: Path) -> None:
    """The committed command learns, in minutes and from rewards alone, to play Freeway better than chance."""
    train.main(["--game", "freeway", "--output", str(tmp_path), "--seed", "1"])
    with np.load(tmp_path / "freeway.npz") as stored:
        features = Features(stored["places"], stored["mean"], stored["scale"])
        assert_beats_random("freeway", LinearPolicy(features, stored["weights"]))


@pytest.mark.parametrize(
    "module",
    [
        atari_agents_dataset_builder,
        cross_entropy,
        evaluate,
        games,
        linear_policy,
        policy,
        recording,
        scripted,
        train,
        training,
    ],
)
def test_docstring_examples_run(module: Any) -> None:
    """The examples in docstrings do what they show."""
    assert doctest.testmod(module).failed == 0
