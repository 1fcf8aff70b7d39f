"""`rlds-kit record`: plays a Gymnasium environment and records it."""

import ast
import contextlib
import importlib
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, Self

import click
import gymnasium
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from rlds_kit.base.errors import RldsKitError
from rlds_kit.install import how_to_install
from rlds_kit.logger.gymnasium_logger import GymnasiumLogger
from rlds_kit.storage.directory import MODES

INTERRUPTED_STATUS: Final = 130
"""128 + SIGINT: what a shell reports after Ctrl-C."""
EPISODES: Final = 10
"""Number of episodes if neither episodes nor steps are given."""
REFRESH_SECONDS: Final = 0.1

Policy = Callable[[Any, gymnasium.Space[Any]], Any]
"""A function of observation and action space that returns an action."""


@dataclass
class Tally:
    """The totals of the recording.

    >>> str(Tally(episodes=1, steps=20, returns=9.5))
    '1 whole episode, 20 actions, mean return 9.5'
    """

    episodes: int = 0
    steps: int = 0
    returns: float = 0.0

    def __str__(self) -> str:
        counts = f"{_count(self.episodes, 'whole episode')}, {_count(self.steps, 'action')}"
        return f"{counts}, mean return {self.returns / self.episodes:.4g}" if self.episodes else counts


class StopRequest:
    """Handles Ctrl-C: the first one requests a stop after the current step, the second one stops immediately."""

    def __init__(self) -> None:
        self.is_made = False

    def __enter__(self) -> Self:
        self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_made:
            raise KeyboardInterrupt
        self.is_made = True


@click.command()
@click.argument("env_id")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--episodes", type=click.IntRange(min=1), help=f"Stop after so many. {EPISODES}, unless --steps limits it."
)
@click.option("--steps", type=click.IntRange(min=1), help="Stop after so many actions, if need be within an episode.")
@click.option("--seed", type=click.IntRange(min=0), help="Of environment and random policy; repeats a recording.")
@click.option(
    "--policy",
    "policy_name",
    default="random",
    show_default=True,
    metavar="MODULE:FUNCTION",
    help="Called with observation and action space, returns an action.",
)
@click.option("--kwargs", multiple=True, metavar="KEY=VALUE", help="For the environment; may be repeated.")
@click.option("--max-steps", type=click.IntRange(min=1), help="Truncate episodes after so many actions.")
@click.option(
    "--mode", type=click.Choice(MODES), default="append", show_default=True, help="If DIRECTORY holds a dataset."
)
def record(  # noqa: PLR0913, PLR0917  click passes every option by its name
    env_id: str,
    directory: Path,
    episodes: int | None,
    steps: int | None,
    seed: int | None,
    policy_name: str,
    kwargs: tuple[str, ...],
    max_steps: int | None,
    mode: str,
) -> None:
    """Record the Gymnasium environment ENV_ID into DIRECTORY.

    Ctrl-C stops early; everything up to then is recorded.

    \b
    rlds-kit record ALE/Pong-v5 data/pong --episodes 5 --seed 0
    rlds-kit record CartPole-v1 data/cartpole --steps 10000 --policy my_agent:act
    rlds-kit record LunarLander-v3 data/lander --kwargs gravity=-5.0

    Exit codes: 0 done; 1 it could not be recorded; 2 the command line is wrong; 130 stopped by Ctrl-C.
    """  # noqa: D301  the backspace disables wrapping
    policy = load_policy(policy_name)
    if episodes is None and steps is None:
        episodes = EPISODES
    tally, stop, console = Tally(), StopRequest(), Console(stderr=True)
    try:
        env = make(env_id, parse_kwargs(kwargs), max_steps)
        env.action_space.seed(seed)
        metadata = {"policy": policy_name, "seed": seed}
        with stop, GymnasiumLogger(env, directory, mode=mode, metadata=metadata, draw_seeds=True) as logger:
            directory = logger.recorder.directory
            _play(logger, policy, seed, (episodes, steps), tally, stop, console)
    except (RldsKitError, gymnasium.error.Error, OSError) as error:
        raise click.ClickException(f"{error}\nRecorded before: {tally}." if tally.steps else str(error)) from error
    except KeyboardInterrupt:
        stop.is_made = True
    if stop.is_made:
        click.echo(f"Stopped. Recorded in {directory}: {tally}.", err=True)
        sys.exit(INTERRUPTED_STATUS)
    click.echo(f"Recorded in {directory}: {tally}.", err=True)


def _play(
    env: GymnasiumLogger,
    policy: Policy,
    seed: int | None,
    limits: tuple[int | None, int | None],
    tally: Tally,
    stop: StopRequest,
    console: Console,
) -> None:
    """Plays until a limit, of episodes or steps, is reached or a stop is requested."""
    episodes, steps = limits
    with _Display(limits, tally, console) as display:
        while tally.episodes != episodes and tally.steps != steps and not stop.is_made:
            observation, _ = env.reset(seed=seed)
            seed, total, done = None, 0.0, False
            while not done and tally.steps != steps and not stop.is_made:
                action = policy(observation, env.action_space)
                observation, reward, terminated, truncated, _ = env.step(action)
                tally.steps += 1
                total += float(reward)
                done = terminated or truncated
                display.update()
            if done:
                tally.episodes += 1
                tally.returns += total


class _Display:
    """A progress bar with steps per second and returns."""

    def __init__(self, limits: tuple[int | None, int | None], tally: Tally, console: Console) -> None:
        episodes, steps = limits
        self._counts_steps = episodes is None
        unit = "steps" if self._counts_steps else "episodes"
        columns = (BarColumn(20), MofNCompleteColumn(), TextColumn(unit), TextColumn("{task.fields[rate]}"))
        self._progress = Progress(*columns, console=console, auto_refresh=False)
        self._task = self._progress.add_task(unit, total=steps if self._counts_steps else episodes, rate="")
        self._tally = tally
        self._started = self._next = time.monotonic()

    def update(self) -> None:
        """Shows the totals, at most at a fixed rate."""
        if time.monotonic() >= self._next:
            self._show()

    def _show(self) -> None:
        now = time.monotonic()
        self._next = now + REFRESH_SECONDS
        tally = self._tally
        rate = f"{tally.steps / max(now - self._started, 1e-9):,.0f} steps/s"
        if tally.episodes:
            rate += f", mean return {tally.returns / tally.episodes:.4g}"
        self._progress.update(self._task, completed=tally.steps if self._counts_steps else tally.episodes, rate=rate)
        self._progress.refresh()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._show()
        self._progress.stop()


def make(env_id: str, kwargs: dict[str, Any], max_steps: int | None) -> gymnasium.Env[Any, Any]:
    """Makes the environment, Atari's included.

    Raises:
      ClickException: ale-py is required and not installed, or the environment does not accept these arguments.
      gymnasium.error.Error: there is no such environment.
    """
    if env_id.startswith("ALE/"):
        try:
            gymnasium.register_envs(importlib.import_module("ale_py"))
        except ImportError as error:
            raise click.ClickException(f"{env_id} needs ale-py: {how_to_install('atari')}") from error
    try:
        return gymnasium.make(env_id, max_episode_steps=max_steps, **kwargs)
    except gymnasium.error.UnregisteredEnv as error:
        if "/" in env_id or f"ALE/{env_id}" not in _games():
            raise
        raise click.ClickException(f"expected an id that Gymnasium knows, got {env_id!r}; use ALE/{env_id}") from error
    except (TypeError, ValueError, AttributeError) as error:  # of the environment's own constructor
        raise click.ClickException(f"{env_id} cannot be made with {kwargs}: {error}") from error


def _games() -> Collection[str]:
    """The ids of Atari's games; none if ale-py is not installed."""
    with contextlib.suppress(ImportError):
        gymnasium.register_envs(importlib.import_module("ale_py"))
    return gymnasium.registry


def load_policy(name: str) -> Policy:
    """Imports a function by `module:function`; also searches the current directory for modules.

    Raises:
      BadParameter: there is no such function.

    >>> load_policy("random")(None, gymnasium.spaces.Discrete(1)).item()
    0
    """
    if name == "random":
        return lambda _, space: space.sample()
    module, _, function = name.partition(":")
    if not module or not function:
        raise click.BadParameter(f"expected random or module:function, got {name!r}", param_hint="--policy")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        policy: Policy = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise click.BadParameter(f"cannot import {name!r}: {error}", param_hint="--policy") from error
    return policy


def parse_kwargs(items: Iterable[str]) -> dict[str, Any]:
    """Parses `key=value` pairs; values that are not Python literals are text.

    Raises:
      BadParameter: an item has no "=".

    >>> parse_kwargs(["gravity=9.81", "render_mode=rgb_array", "sizes=[1, 2]"])
    {'gravity': 9.81, 'render_mode': 'rgb_array', 'sizes': [1, 2]}
    """
    found = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"expected KEY=VALUE, got {item!r}", param_hint="--kwargs")
        try:
            found[key] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            found[key] = text
    return found


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
