"""Studies of the demo: Atari games, and environments of Gymnasium."""

from collections.abc import AsyncIterator
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.inspection import Inspector
from rlds_kit.studio.database import studies
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.studies import Content, StudyEnvironment

with needs("studio"):
    from sqlalchemy import Connection

_GAME: Final[dict[str, Any]] = {"full_action_space": True, "frameskip": 2, "repeat_action_probability": 0.0}
"""One space of actions for all games, and a person's frame rate."""


def _game(name: str, instructions: str) -> StudyEnvironment:
    spaced = "".join(f" {letter}" if letter.isupper() else letter for letter in name).strip()
    return StudyEnvironment(name=spaced, instructions=instructions, environment=f"ALE/{name}-v5", kwargs=_GAME, fps=30)


DEMOS: Final = (
    Content(
        name="Three Atari games",
        description="Real time, 30 steps a second",
        instructions="Arrow keys move, Space fires or serves. Play as well as you can.",
        environments=(
            _game("Breakout", "Space serves the ball. Clear the wall."),
            _game("Pong", "Up and down move your paddle, on the right. 21 points win."),
            _game("SpaceInvaders", "Left and right move, Space shoots."),
        ),
    ),
    Content(
        name="Cart pole",
        description="Balance a pole; time passes while a key is held",
        instructions="The left and right arrows push the cart. Keep the pole upright and the cart on the track.",
        environments=(StudyEnvironment(name="Cart pole", environment="CartPole-v1", turn="hold", fps=15),),
    ),
    Content(
        name="Mountain car",
        description="Swing up to the flag; time passes while a key is held",
        instructions="Left and right push, down lets the car roll. The motor is too weak: build up speed.",
        environments=(StudyEnvironment(name="Mountain car", environment="MountainCar-v0", turn="hold", fps=30),),
    ),
    Content(
        name="Lunar lander",
        description="Land between the flags, in real time",
        instructions="The left and right arrows fire the side engines, up or Space fires the main engine.",
        environments=(StudyEnvironment(name="Lunar lander", environment="LunarLander-v3", fps=30),),
    ),
    Content(
        name="Frozen lake",
        description="One step for each key press",
        instructions="The arrow keys move. The ice is slippery; holes end the game, the present wins it.",
        environments=(StudyEnvironment(name="Frozen lake", environment="FrozenLake-v1", turn="press"),),
    ),
)


async def add(database: Database, inspector: Inspector, owner: str) -> AsyncIterator[str]:
    """Adds and enables the studies that do not exist yet.

    Args:
      database: of the studio.
      inspector: of the studio.
      owner: account of a designer.

    Yields:
      Why a study is left out.
    """
    there = {study.content.name for study in await database.run(studies.visible, owner, enabled=False, others=False)}
    for content in reversed(DEMOS):  # the newest study is the first of the table
        if content.name in there:
            continue
        try:
            problems = [each.message for each in await inspector.misfits(content.environments)]
        except ApiError as error:
            problems = [error.message]
        if problems:
            yield f"the study {content.name!r} is left out: {problems[0]}"
        else:
            await database.run(_add, owner, content)


def _add(connection: Connection, owner: str, content: Content) -> None:
    study = studies.add(connection, owner, content)
    studies.enable(connection, study.id, is_enabled=True)
