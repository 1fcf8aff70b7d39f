"""What a program elsewhere gets to know when its trial begins."""

from rlds_kit import spec as specs
from rlds_kit.spec.from_gymnasium import from_gymnasium
from rlds_kit.trials.actors.contract import ActorInfo
from rlds_kit.trials.wire import messages
from rlds_kit.trials.wire.values import encode


def joined(info: ActorInfo) -> messages.Joined:
    """What a program that acts is given when its trial begins."""
    kind = info.actor_class
    return messages.Joined(
        trial=info.trial,
        seat=info.seat,
        actor_class=kind.name,
        observation_space=specs.to_json(from_gymnasium(kind.observation_space)),
        action_space=specs.to_json(from_gymnasium(kind.action_space)),
        seed=info.seed,
        config={key: encode(each) for key, each in info.config.items() if key != "token"},
        properties={key: encode(each) for key, each in info.properties.items()},
    )
