"""A share of the trials has people: an agent learns in all of them, and a person joins every fourth.

The person joins over HTTP, as a program elsewhere does; here it is simulated, in a thread. Needs the extra `trials`.
"""

import argparse
import secrets
import threading
from pathlib import Path

import rlds_kit
from rlds_kit.trials import EnvironmentSpec, PeopleShare
from rlds_kit.trials.client import ActorRequest, Client, ServiceError, StartTrial
from rlds_kit.trials.service import Role, ServiceSettings, Signer, running

SHARE = 0.25


def simulated_person(url: str, token: str, is_over: threading.Event) -> None:
    """Takes each seat that is free, and balances the pole."""
    with Client(url, token) as client:
        while not is_over.is_set():
            try:
                seat = client.join(actor_class="player", wait=0.2)
            except ServiceError:
                continue  # no trial needs a person now
            with seat:
                for turn in seat:
                    seat.act(int(turn.observation[2] + turn.observation[3] > 0))


def main(directory: Path, trials: int = 12) -> dict[str, float]:
    """The share of recorded trials with a person, and mean steps with and without."""
    secret, is_over = secrets.token_bytes(32), threading.Event()
    settings = ServiceSettings(
        secret=secret,
        environments={"pole": EnvironmentSpec("CartPole-v1")},
        directory=directory,
        is_here=True,
        hooks=(PeopleShare(SHARE, {"player": "remote"}),),
    )
    signer = Signer(secret)
    with running(settings) as url, Client(url, signer.sign("trainer", Role.ADMIN, seconds=600)) as client:
        token = signer.sign("ann", Role.ACTOR, seconds=600)
        person = threading.Thread(target=simulated_person, args=(url, token, is_over))
        person.start()
        try:
            for seed in range(trials):
                agent = ActorRequest(implementation="random")
                trial = client.start(StartTrial(environment="pole", actors={"player": agent}, seed=seed, max_steps=100))
                any(state.phase == "ended" for state in client.watch(trial))
        finally:
            is_over.set()
            person.join()
    return report(directory)


def report(directory: Path) -> dict[str, float]:
    """What was recorded."""
    episodes = rlds_kit.open(directory).episodes
    steps = {True: [0], False: [0]}
    for each in episodes:
        steps[bool(each.metadata["properties"]["with_people"])].append(len(each) - 1)
    return {
        "share": (len(steps[True]) - 1) / len(episodes),
        "with a person": sum(steps[True]) / max(1, len(steps[True]) - 1),
        "without": sum(steps[False]) / max(1, len(steps[False]) - 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("data/share-with-people"))
    for name, value in main(parser.parse_args().directory).items():
        print(f"{name}: {value:.2f}")
