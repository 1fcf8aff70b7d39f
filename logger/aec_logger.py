"""Records a PettingZoo environment in which agents act in turn."""

import os
from typing import Any, Final, Unpack

from rlds_kit.base.extras import needs
from rlds_kit.base.step import ACTION, AGENT_SELECTION, CUMULATIVE_REWARD, TERMINATED, TRUNCATED, EpisodeEnd
from rlds_kit.closing import Closing
from rlds_kit.logger.agents_recording import AgentsRecording, PettingZooOptions, ending_of
from rlds_kit.logger.episode_log import EpisodeLog
from rlds_kit.logger.recording import Recorded, close_both
from rlds_kit.logger.time_step import GymnasiumTimeStep
from rlds_kit.logger.value_copy import copy_value

with needs("pettingzoo"):
    from pettingzoo.utils.env import AECIterable
    from pettingzoo.utils.wrappers import BaseWrapper

_NO_FLAGS: Final = (False, False)


class AECLogger(Recorded, Closing, BaseWrapper[Any, Any, Any]):
    """Wraps a `pettingzoo.AECEnv` and records every turn. The wrapper is transparent to the caller.

    There is one row for each turn, including the turns in which ended agents leave. `agent_selection` is the agent
    whose turn it is; the observation is a dict with that agent's observation, and `cumulative_reward` is the reward
    that `last()` returned for it. The row's action is that agent's, an empty dict if it left; its reward, `terminated`
    and `truncated` are those of all agents after the action.

    The episode ends when every agent has ended: as TERMINATED if all of them terminated, as TRUNCATED otherwise. The
    caller need not step the turns in which agents leave.

    `last()` is called one additional time each turn. PettingZoo requires that this does not change the environment.

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
    ...     with AECLogger(pettingzoo.make("aec", "classic/tictactoe-v3"), directory) as env:
    ...         env.reset(seed=1)
    ...         for agent, move in zip(env.agent_iter(), [0, 3, 1, 4, 2]):
    ...             env.step(move)
    ...         env.rewards
    {'player_1': 1, 'player_2': -1}
    """

    def __init__(
        self, env: Any, directory: str | os.PathLike[str], **options: Unpack[PettingZooOptions]
    ) -> None:  # agents, observations and actions have any type
        super().__init__(env)
        self._agents = AgentsRecording(self, env, directory, "pettingzoo.aec", **options)
        self._recording, self._log = self._agents.recording, self._agents.log
        self._end = _KnownEnd(self._log)
        self._recording.before_close(self._end.finish)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Resets the environment; an episode that is open, with agents that have not ended, ends as INTERRUPTED.

        Args:
          seed: recorded; None: passed on, unless `draw_seeds` is set.
          options: passed on and recorded.

        Raises:
          RecordingError: recording is not possible any more.
          SpecError: an observation does not match its space, and the logger is strict.
          UnsupportedTypeError: a value cannot be recorded.
        """
        self._recording.check()
        self._end.finish()
        passed, given = self._agents.seed(seed), copy_value(options)
        self._log.expect()
        self.env.reset(seed=passed, options=options)
        self._agents.follow(seed)
        observed, time_step = self._turn(is_first=True, flags=_NO_FLAGS)
        provenance = self._agents.resets.provenance(0)
        self._log.start(observed, time_step, seed=passed, options=given, provenance=provenance)

    def step(self, action: Any) -> None:
        """Steps the environment for the agent whose turn it is, and records the result.

        Raises:
          RecordingError: recording is not possible any more; the environment was not stepped.
          SpecError: an observation or reward does not match its space, and the logger is strict.
          UnsupportedTypeError: a value cannot be recorded.
        """
        self._recording.check()
        self._agents.resets.step()
        if not self._log.is_running:
            self.env.step(action)
            self._log.warn_outside()
            return
        agent = self.env.agent_selection
        acted: dict[str, Any] = {ACTION: {}}
        if not (self.env.terminations[agent] or self.env.truncations[agent]):  # else the agent can only leave
            acted[ACTION] = {self._agents.names(agent): copy_value(action)}
            if self._agents.check_action is not None:
                self._agents.check_action(acted[ACTION])
        self._log.expect()
        self.env.step(action)
        self._record(acted)

    def _record(self, acted: dict[str, Any]) -> None:
        env, end = self.env, self._end
        acted |= self._agents.answered(env.rewards, env.terminations, env.truncations)
        terminated, truncated = acted[TERMINATED], acted[TRUNCATED]
        if not all(terminated[name] or truncated[name] for name in map(self._agents.names, env.agents)):
            end.ending, end.flags = None, _NO_FLAGS
        elif end.ending is None:
            end.ending, end.flags = ending_of(terminated.values(), truncated.values())
        if not env.agents:  # the last one left
            end.finish(acted if acted[ACTION] else None)
            return
        observed, time_step = self._turn(is_first=False, flags=end.flags)
        self._log.step(observed, acted, time_step)

    def _turn(self, *, is_first: bool, flags: tuple[bool, bool]) -> tuple[dict[str, Any], GymnasiumTimeStep | None]:
        """The observation of the agent whose turn it is."""
        agents, agent = self._agents, self.env.agent_selection
        observation, reward, _, _, info = self.env.last()
        observed = agents.observed({agent: observation}, self.env.infos)
        observed |= {AGENT_SELECTION: agents.names(agent), CUMULATIVE_REWARD: reward}
        if not agents.need_time_steps:
            return observed, None
        if is_first:
            return observed, GymnasiumTimeStep.restart(observation, info)
        return observed, GymnasiumTimeStep.transition(observation, reward, flags, info)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The result of the wrapped environment."""
        return self.env.last(observe)

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[Any, Any, Any]:
        """The iterator of the wrapped environment: some check that each turn is stepped."""
        return self.env.agent_iter(max_iter)

    def close(self) -> None:
        """Ends an open episode, writes everything, and closes the environment.

        Raises:
          RecordingError: steps were lost; the environment is closed nevertheless.
        """
        close_both(self._recording.close, self.env.close)


class _KnownEnd:
    """The end of the open episode, once it is known; agents may still have to leave, but the caller may skip that.

    Attributes:
      ending: None: not known yet.
      flags: terminated and truncated, of the episode.
    """

    def __init__(self, log: EpisodeLog) -> None:
        self._log = log
        self.ending: EpisodeEnd | None = None
        self.flags = _NO_FLAGS

    def finish(self, acted: dict[str, Any] | None = None) -> None:
        """Ends the episode with the known ending, or as INTERRUPTED.

        Args:
          acted: of a last action without an observation after it.
        """
        ending, flags, self.ending, self.flags = self.ending, self.flags, None, _NO_FLAGS
        if ending is None or not self._log.is_running:
            self._log.interrupt()
        else:
            self._log.step({}, acted or {}, None, ending=ending, flags=flags)
