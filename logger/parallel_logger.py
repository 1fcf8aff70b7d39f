"""Records a PettingZoo environment in which all agents act at once."""

import os
from typing import Any, Unpack

from rlds_kit.base.extras import needs
from rlds_kit.base.step import ACTION
from rlds_kit.closing import Closing
from rlds_kit.logger.agents_recording import AgentsRecording, PettingZooOptions, ending_of
from rlds_kit.logger.recording import Recorded, close_both
from rlds_kit.logger.time_step import GymnasiumTimeStep
from rlds_kit.logger.value_copy import copy_value

with needs("pettingzoo"):
    from pettingzoo.utils.wrappers import BaseParallelWrapper


class ParallelLogger(Recorded, Closing, BaseParallelWrapper[Any, Any, Any]):
    """Wraps a `pettingzoo.ParallelEnv` and records every step. The wrapper is transparent to the caller.

    There is one row for each step. Observation, action, reward, `terminated` and `truncated` are the dicts by agent
    that were passed and returned, so absent agents are not in them. The episode ends when no agent is left: as
    TERMINATED if every agent of the last step terminated, as TRUNCATED otherwise.

    Args:
      env: to record.
      directory: of the dataset; created if it does not exist.
      options: see `PettingZooOptions`.

    Raises:
      SpecError: a space cannot be recorded, or contradicts the existing dataset; or two agents have the same name.
      DatasetExistsError: the mode does not allow an existing dataset.

    >>> import tempfile
    >>> import pettingzoo
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with ParallelLogger(pettingzoo.make("parallel", "classic/rps-v2"), directory) as env:
    ...         observations, infos = env.reset(seed=1)
    ...         _, rewards, _, _, _ = env.step({"player_0": 0, "player_1": 1})
    >>> dict(rewards)
    {'player_0': -1, 'player_1': 1}
    """

    def __init__(
        self, env: Any, directory: str | os.PathLike[str], **options: Unpack[PettingZooOptions]
    ) -> None:  # agents, observations and actions have any type
        super().__init__(env)
        self._agents = AgentsRecording(self, env, directory, "pettingzoo.parallel", **options)
        self._recording, self._log = self._agents.recording, self._agents.log
        self._recording.before_close(self._log.interrupt)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[Any, Any], dict[Any, dict[str, Any]]]:
        """Resets the environment; an episode that is open ends as INTERRUPTED.

        Args:
          seed: recorded; None: passed on, unless `draw_seeds` is set.
          options: passed on and recorded.

        Raises:
          RecordingError: recording is not possible any more.
          SpecError: an observation does not match its space, and the logger is strict.
          UnsupportedTypeError: a value cannot be recorded.
        """
        self._recording.check()
        passed, given = self._agents.seed(seed), copy_value(options)
        self._log.expect()
        observations, infos = self.env.reset(seed=passed, options=options)
        self._agents.follow(seed)
        time_step = GymnasiumTimeStep.restart(observations, infos) if self._agents.need_time_steps else None
        observed, provenance = self._agents.observed(observations, infos), self._agents.resets.provenance(0)
        self._log.start(observed, time_step, seed=passed, options=given, provenance=provenance)
        return observations, infos

    def step(
        self, actions: dict[Any, Any]
    ) -> tuple[dict[Any, Any], dict[Any, float], dict[Any, bool], dict[Any, bool], dict[Any, dict[str, Any]]]:
        """Steps the environment and records what it returned.

        Raises:
          RecordingError: recording is not possible any more; the environment was not stepped.
          SpecError: an observation or reward does not match its space, and the logger is strict.
          UnsupportedTypeError: a value cannot be recorded.
        """
        agents = self._agents
        self._recording.check()
        taken = agents.names.keyed(copy_value(actions))  # a copy: the environment may change them
        if agents.check_action is not None and self._log.is_running:
            agents.check_action(taken)
        self._log.expect()
        agents.resets.step()
        observations, rewards, terminated, truncated, infos = result = self.env.step(actions)
        if not self._log.is_running:
            self._log.warn_outside()
            return result
        ending, flags = None, (False, False)
        if all(terminated.get(agent) or truncated.get(agent) for agent in self.env.agents):
            ending, flags = ending_of(map(bool, terminated.values()), map(bool, truncated.values()))
        time_step = None
        if agents.need_time_steps:
            time_step = GymnasiumTimeStep.transition(observations, rewards, flags, infos)
        acted = {ACTION: taken, **agents.answered(rewards, terminated, truncated)}
        self._log.step(agents.observed(observations, infos), acted, time_step, ending=ending, flags=flags)
        return result

    def close(self) -> None:
        """Ends an open episode as INTERRUPTED, writes everything, and closes the environment.

        Raises:
          RecordingError: steps were lost; the environment is closed nevertheless.
        """
        close_both(self._recording.close, self.env.close)
