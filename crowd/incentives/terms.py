"""What a participant was promised when their game began: a task that is changed later changes nothing of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rlds_kit.crowd.incentives.bonus import Bonus, Formula
from rlds_kit.crowd.incentives.requirement import Requirement
from rlds_kit.crowd.incentives.treatment import Treatment


@dataclass(frozen=True, slots=True)
class Terms:
    """The rules by which an assignment is paid.

    Attributes:
      task: its name.
      treatment: how it is rewarded.
      currency: of the payment.

    >>> terms = Terms("pole", Treatment("pole", 100, (Requirement("score", 5),)), "EUR")
    >>> Terms.of_json(terms.as_json()) == terms
    True
    """

    task: str
    treatment: Treatment
    currency: str = "USD"

    def as_json(self) -> dict[str, Any]:
        """As a database stores it."""
        treatment = asdict(self.treatment)
        if self.treatment.bonus is not None:
            treatment["bonus"]["formula"] = self.treatment.bonus.formula.value
        treatment["requirements"] = list(treatment["requirements"])
        return {"task": self.task, "treatment": treatment, "currency": self.currency}

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> "Terms":
        """What `as_json` returned.

        Raises:
          KeyError, TypeError, ValueError: it did not.
        """
        found = values["treatment"]
        bonus = found["bonus"]
        treatment = Treatment(
            found["name"],
            found["base_cents"],
            tuple(Requirement(**each) for each in found["requirements"]),
            None if bonus is None else Bonus(**{**bonus, "formula": Formula(bonus["formula"])}),
            found["tickets"],
        )
        return cls(values["task"], treatment, values["currency"])
