"""A server of Multi-User Gymnasium: `python mug_server.py PORT MODE`, in an environment that has it.

It plays `lamp.py`. MODE is "server" (steps on the server), "page" (steps in the page), "brief" and "short" (likewise,
with an episode of ten seconds), "pair" (two pages, each with its own copy, connected to each other) or "lobby" (nobody
is ever matched). What MUG writes goes below the working directory.
"""

# ruff: noqa: E402  eventlet patches modules that the others import

import eventlet

eventlet.monkey_patch()

import sys
from pathlib import Path
from typing import Any

import lamp
from mug.configurations import configuration_constants, experiment_config
from mug.scenes import gym_scene, stager, static_scene
from mug.server import app
from mug.server.matchmaker import Matchmaker

FPS = 30
STEPS = {"brief": 300, "short": 300, "pair": 300}
HUMAN = configuration_constants.PolicyTypes.Human
SOURCE = (Path(__file__).parent / "lamp.py").read_text(encoding="utf-8")
PACKAGES = ["gymnasium", "multi-user-gymnasium==0.1.3"]


class Nobody(Matchmaker):
    """Puts nobody together: all wait."""

    def find_match(self, arriving: Any, waiting: Any, group_size: int) -> None:
        """Nobody."""


def scene(mode: str) -> Any:
    """What is played."""
    names = ("first", "second") if mode in {"pair", "lobby"} else ("human",)
    made = (
        gym_scene.GymScene()
        .scene(scene_id="lamp", experiment_config={})
        .policies(policy_mapping=dict.fromkeys(names, HUMAN), frame_skip=1)
        .rendering(fps=FPS, game_width=300, game_height=200)
        .gameplay(
            default_action=0,
            action_mapping={"ArrowLeft": 1, "ArrowRight": 2},
            num_episodes=1,
            max_steps=STEPS.get(mode, 1_000_000),
            input_mode=configuration_constants.InputModes.PressedKeys,
        )
        .content(scene_header="Lamp", scene_body="Ready?")
        .waitroom(timeout=600_000)
    )
    return _where(made, mode)


def _where(made: Any, mode: str) -> Any:
    if mode in {"server", "brief", "lobby"}:
        made = made.environment(env_creator=lamp.Lamp, env_config={"render_mode": "mug"})
        matchmaker = {"matchmaker": Nobody()} if mode == "lobby" else {}
        return made.multiplayer(mode="server_authoritative", **matchmaker)
    name = "Lamps" if mode == "pair" else "Lamp"
    code = f"{SOURCE}\nenv = {name}(render_mode='mug')\n"
    made = made.runtime(environment_initialization_code=code, packages_to_install=PACKAGES)
    return made.multiplayer(input_delay=2) if mode == "pair" else made


def serve(port: int, mode: str) -> None:
    """Serves until the process is ended."""
    start = static_scene.StartScene().scene(scene_id="start", experiment_config={}).display("Welcome", "A lamp.")
    end = static_scene.EndScene().scene(scene_id="end").display("Thanks", "Done.")
    config = (
        experiment_config.ExperimentConfig()
        .experiment(stager=stager.Stager(scenes=[start, scene(mode), end]), experiment_id="lamp")
        .hosting(port=port, host="127.0.0.1")
    )
    app.run(config)


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
