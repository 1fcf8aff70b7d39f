"""The Atari games that one player can play in the Arcade Learning Environment."""

import importlib
from typing import Any, Final

import gymnasium

from rlds_kit.install import how_to_install

GAMES: Final = tuple(  # a list of a hundred lines would be harder to read
    """
    adventure air_raid alien amidar assault asterix asteroids atlantis atlantis2 backgammon bank_heist basic_math
    battle_zone beam_rider berzerk blackjack bowling boxing breakout carnival casino centipede chopper_command
    crazy_climber crossbow darkchambers defender demon_attack donkey_kong double_dunk earthworld elevator_action enduro
    entombed et fishing_derby flag_capture freeway frogger frostbite galaxian gopher gravitar hangman haunted_house hero
    human_cannonball ice_hockey jamesbond journey_escape kaboom kangaroo keystone_kapers king_kong klax koolaid krull
    kung_fu_master laser_gates lost_luggage mario_bros miniature_golf montezuma_revenge mr_do ms_pacman name_this_game
    othello pacman phoenix pitfall pitfall2 pong pooyan private_eye qbert riverraid road_runner robotank seaquest
    sir_lancelot skiing solaris space_invaders space_war star_gunner superman surround tennis tetris tic_tac_toe_3d
    time_pilot trondead turmoil tutankham up_n_down venture video_checkers video_chess video_cube video_pinball
    wizard_of_wor word_zapper yars_revenge zaxxon
    """.split()  # noqa: SIM905
)
"""104 names. `ale-py` brings 108 ROMs; combat, joust, maze_craze and warlords need two players."""


def env_id(game: str) -> str:
    """The id of a game's environment in Gymnasium.

    >>> env_id("ms_pacman"), env_id("tic_tac_toe_3d")
    ('ALE/MsPacman-v5', 'ALE/TicTacToe3D-v5')
    """
    return f"ALE/{game.title().replace('_', '')}-v5"


def make_env(game: str, max_steps: int | None = None, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Makes a game's environment, as version 5 defines it: four frames per step, and sticky actions.

    Args:
      game: one of `GAMES`.
      max_steps: after which an episode is truncated; None: the default limit of 108,000 frames.
      **kwargs: of the environment, for instance `obs_type="ram"`.

    Raises:
      ValueError: there is no such game.
      ImportError: ale-py is not installed.
    """
    if game not in GAMES:
        raise ValueError(
            f"expected a game of ALE in snake_case, such as 'ms_pacman', got {game!r}; GAMES has all names"
        )
    try:
        gymnasium.register_envs(importlib.import_module("ale_py"))
    except ImportError as error:
        raise ImportError(f"Atari games need ale-py: {how_to_install('atari')}") from error
    return gymnasium.make(env_id(game), max_episode_steps=max_steps, **kwargs)
