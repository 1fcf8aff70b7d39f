"""Verdicts by natural language inference with models of Hugging Face: whether the manual entails "hit the object"."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

from rlds_kit.shaping.language.model import ModelError
from rlds_kit.shaping.language.model_readers import judged
from rlds_kit.shaping.language.pretrained import Pretrained, load
from rlds_kit.shaping.manuals.model_reply import ModelReply
from rlds_kit.shaping.manuals.reasoning import Judgement

HYPOTHESIS: Final = "If you want to win, you should hit the {object}."
_LONGEST: Final = 512


@dataclass(frozen=True, eq=False)
class EntailmentReasoner:
    """Compares the probabilities that the manual entails, or contradicts, that one should hit the object.

    A longer text is cut at its start: the answer to the question about the object is at its end.

    Attributes:
      pretrained: a model with the labels "entailment" and "contradiction".
      undecided: abstains if the probability is closer than this to 0.5.
      least: abstains if entailment and contradiction together are less probable.
    """

    pretrained: Pretrained
    undecided: float = 0.05
    least: float = 0.1

    @classmethod
    def load(cls, name: str, *, is_offline: bool = False) -> Self:
        """Loads a model from a folder or the Hugging Face hub. Arguments and errors as for `pretrained.load`.

        Raises:
          ModelError: the model does not have both labels.
        """
        reasoner = cls(load("AutoModelForSequenceClassification", name, is_offline=is_offline))
        if not reasoner._labels.keys() >= {"entailment", "contradiction"}:
            raise ModelError(
                f"{name}: expected a model with the labels entailment and contradiction, got "
                f"{', '.join(reasoner._labels)}: is it made for natural language inference?"
            )
        return reasoner

    @property
    def fingerprint(self) -> str:
        """See `Reasoner`."""
        return f"nli-1 {self.pretrained.fingerprint} undecided={self.undecided} least={self.least}"

    def judge(self, context: str, name: str) -> Judgement:
        """See `Reasoner`."""
        hypothesis = HYPOTHESIS.replace("{object}", name)
        reply = self._reply(context, hypothesis)
        entailed, contradicted = reply.probability("entailment"), reply.probability("contradiction")
        if entailed + contradicted < self.least:
            return Judgement(0.5, "abstain", (reply,))
        return judged(entailed / (entailed + contradicted), self.undecided, reply)

    @cached_property
    def _labels(self) -> Mapping[str, int]:
        return {str(label).lower(): number for number, label in self.pretrained.network.config.id2label.items()}

    def _reply(self, premise: str, hypothesis: str) -> ModelReply:
        tokenizer = self.pretrained.tokenizer
        tokenizer.truncation_side = "left"
        most = min(tokenizer.model_max_length, _LONGEST)
        inputs = tokenizer(premise, hypothesis, truncation="only_first", max_length=most, return_tensors="pt")
        logarithms = self.pretrained.logits(**inputs).logits[0].float().log_softmax(-1).tolist()
        labels = sorted(((label, min(logarithms[number], 0.0)) for label, number in self._labels.items()))
        text = max(labels, key=lambda each: each[1])[0]
        return ModelReply(self.pretrained.fingerprint, 0, hypothesis, premise, text, tuple(labels))
