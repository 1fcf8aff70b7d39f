"""Where a worker runs, and what it takes there."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What an environment or an actor needs of a machine. Processes on this machine ignore it.

    Attributes:
      cpus: that it takes.
      gpus: that it takes.
      resources: others that it takes, by the name that the cluster gives them, as {"node:10.0.0.7": 0.001}.
      is_spread: whether to prefer machines that have fewer; if not, machines are filled one after another.

    Raises:
      ValueError: a quantity is negative, or `resources` names what another attribute says.

    >>> Placement(gpus=0.5, resources={"camera": 1})
    Placement(cpus=1.0, gpus=0.5, resources={'camera': 1}, is_spread=True)
    """

    cpus: float = 1.0
    gpus: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)
    is_spread: bool = True

    def __post_init__(self) -> None:
        every = {"cpus": self.cpus, "gpus": self.gpus, **self.resources}
        negative = {name: number for name, number in every.items() if number < 0}
        if negative:
            raise ValueError(f"expected quantities from 0 on, got {negative}")
        if {"CPU", "GPU"} & self.resources.keys():
            raise ValueError(f"expected CPU and GPU in cpus and gpus, got resources={dict(self.resources)}")

    def __str__(self) -> str:
        every = {"CPU": self.cpus, "GPU": self.gpus, **self.resources}
        return ", ".join(f"{number:g} {name}" for name, number in every.items() if number) or "nothing"
