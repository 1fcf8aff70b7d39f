"""Restores trainings from their recordings: the same agents, bit for bit, and the position of interrupted ones."""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rlds_kit.base.step import EpisodeEnd
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.shaping.feedback.layer import LAYER, read_feedback
from rlds_kit.shaping.feedback.stream import FeedbackStream
from rlds_kit.shaping.learners.recorded import learn_again
from rlds_kit.shaping.learners.tamer import Tamer
from rlds_kit.shaping.trainings.position import Position

Learner = Callable[[], Tamer]


@dataclass(frozen=True, slots=True)
class Relearned:
    """The state of an agent at the end of a game.

    Attributes:
      training: id of the training.
      annotator: the trainer.
      agent: number of the agent in the training, from 1.
      sequence: number of the game in the training, from 0.
      tamer: the agent; it continues with the next game.
    """

    training: str
    annotator: str
    agent: int
    sequence: int
    tamer: Tamer

    @property
    def digest(self) -> str:
        """The SHA-256 of the weights: equal ones have equal bits."""
        return weights_digest(self.tamer)


def weights_digest(tamer: Tamer) -> str:
    """SHA-256 of the weights of an agent.

    >>> from rlds_kit.shaping.learners import mountain_car_tamer
    >>> weights_digest(mountain_car_tamer()) == weights_digest(mountain_car_tamer())
    True
    """
    return hashlib.sha256(tamer.model.weights.tobytes()).hexdigest()


def games(dataset: Dataset, training: str) -> list[Episode]:
    """The recorded games of a training, in order."""
    found = [each for each in dataset.episodes if each.metadata.get("training") == training]
    return sorted(found, key=lambda each: int(each.metadata["sequence"]))


def trainings(dataset: Dataset, annotator: str | None = None) -> list[str]:
    """The ids of trainings of a person, the oldest first; None: of all people."""
    about = [each.metadata for each in dataset.episodes]
    wanted = [each for each in about if "training" in each and annotator in {None, each["annotator"]}]
    return list(dict.fromkeys(each["training"] for each in wanted))


def relearned(dataset: Dataset, training: str, learner: Learner) -> Iterator[Relearned]:
    """Trains the agents of a training again from its recording; yields each agent after each of its games.

    Args:
      dataset: of the training, as `rlds_kit.open(path, include_open=True)` gives it.
      training: its id.
      learner: makes an untrained agent: that of the training.
    """
    tamer, number = learner(), 0
    for episode in games(dataset, training):
        if episode.metadata["agent"] != number:
            tamer, number = learner(), episode.metadata["agent"]
        learn_episode(tamer, dataset, episode)
        yield Relearned(training, episode.metadata["annotator"], number, episode.metadata["sequence"], tamer)


def learn_episode(tamer: Tamer, dataset: Dataset, episode: Episode) -> None:
    """Trains an agent with the feedback of a recorded game; errors as in `read_feedback` and `learn_again`."""
    feedback = read_feedback(dataset, episode) if LAYER in dataset.layers else FeedbackStream()
    if feedback.clock.n_steps >= episode.length:  # it is being recorded: these steps are newer than the snapshot
        episode = next(each for each in dataset.refresh().episodes if each.id == episode.id)
    shown = itertools.islice(episode.steps, feedback.clock.n_steps)
    learn_again(tamer, [(each["observation"], each["action"]) for each in shown], feedback)


def position_of(dataset: Dataset, training: str, learner: Learner) -> Position:
    """The position at which a training continues.

    Args:
      dataset: of the training, as `rlds_kit.open(path, include_open=True)` gives it.
      training: its id; if it has no recording, the position is the beginning.
      learner: makes an untrained agent.
    """
    played, agent = games(dataset, training), None
    for each in relearned(dataset, training, learner):
        agent = each.tamer
    runs = _runs(dataset.episodes, training, played)
    if not played:
        return Position(runs=runs)
    last = played[-1].metadata
    whole = [each for each in played if each.metadata["attempt"] == last["attempt"] and is_whole(each)]
    return Position(
        stage=last["stage"],
        n_games=len(whole),
        total=sum(each.length - 1 for each in whole),
        score=sum(score(each) for each in whole),
        is_official=last["is_official"],
        runs=runs,
        attempt=last["attempt"],
        sequence=last["sequence"] + 1,
        agent_number=last["agent"],
        agent=agent,
    )


def is_whole(game: Episode) -> bool:
    """Whether a game was played to its end."""
    return game.end in {EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED}


def score(game: Episode) -> float:
    """The sum of the environment's rewards of a game."""
    return float(game["reward"][:-1].sum())


def _runs(episodes: Iterable[Episode], training: str, played: list[Episode]) -> frozenset[str]:
    """The stages that the person of a training has done, in this training or an earlier one."""
    people = {each.metadata["annotator"] for each in played} | {training.partition(":")[0]}
    about = [each.metadata for each in episodes]
    return frozenset(each["stage"] for each in about if each.get("annotator") in people)
