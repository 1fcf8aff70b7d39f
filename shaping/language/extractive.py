"""Extractive question answering with models of Hugging Face: the paper's way of reading (section 3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

from rlds_kit.shaping.language.pretrained import Pretrained, load
from rlds_kit.shaping.manuals.answering import Answer, joined
from rlds_kit.shaping.manuals.manual import Manual
from rlds_kit.shaping.manuals.sentences import Span

_LONGEST: Final = 512
"""Tokens of a window, even if the tokenizer names no limit."""


@dataclass(frozen=True, eq=False)
class ExtractiveAnswerer:
    """Selects from each window of the manual the passage with the largest product of start and end probability.

    Windows overlap, so that each passage of up to `stride` tokens is whole in one of them. A window has no answer if
    the first token, which represents "no answer" in SQuAD 2, is more probable.

    Attributes:
      pretrained: the model.
      size: of windows, in tokens, with the question.
      stride: the overlap of windows, in tokens; at most a quarter of a window.
      most_tokens: of a passage.
      least: the smallest probability of a passage.
    """

    pretrained: Pretrained
    size: int = 384
    stride: int = 128
    most_tokens: int = 64
    least: float = 0.0

    @classmethod
    def load(cls, name: str, *, is_offline: bool = False) -> Self:
        """Loads a model from a folder or the Hugging Face hub. Arguments and errors as for `pretrained.load`."""
        return cls(load("AutoModelForQuestionAnswering", name, is_offline=is_offline))

    @property
    def fingerprint(self) -> str:
        """See `QuestionAnswerer`."""
        options = f"size={self.size} stride={self.stride} most={self.most_tokens} least={self.least}"
        return f"extractive-1 {self.pretrained.fingerprint} {options}"

    def answer(self, question: str, manual: Manual) -> Answer:
        """See `QuestionAnswerer`."""
        found: dict[Span, float] = {}
        for span, score in self._passages(question, manual.text):
            found[span] = max(score, found.get(span, 0.0))
        return joined(manual.text, found)

    def _passages(self, question: str, text: str) -> Iterator[tuple[Span, float]]:
        """The best passage of each window that has an answer."""
        most = min(self.size, self.pretrained.tokenizer.model_max_length, _LONGEST)
        windows = self.pretrained.tokenizer(
            question,
            text,
            truncation="only_second",
            max_length=most,
            stride=min(self.stride, most // 4),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_tensors="pt",
            padding=True,
        )
        offsets = windows.pop("offset_mapping")
        windows.pop("overflow_to_sample_mapping")
        for number in range(len(offsets)):
            inputs = {name: values[number : number + 1] for name, values in windows.items()}
            is_text = [each == 1 for each in windows.sequence_ids(number)]
            yield from self._best(self.pretrained.logits(**inputs), is_text, offsets[number].tolist())

    def _best(self, output: Any, is_text: list[bool], offsets: list[list[int]]) -> Iterator[tuple[Span, float]]:
        start, end = (logits[0].float().softmax(-1) for logits in (output.start_logits, output.end_logits))
        outside = ~start.new_tensor(is_text).bool()
        products = start.masked_fill(outside, 0.0)[:, None] * end.masked_fill(outside, 0.0)[None, :]
        products = products.triu().tril(self.most_tokens - 1)
        first, last = divmod(int(products.argmax()), len(end))
        score = float(products[first, last])
        span = Span(offsets[first][0], offsets[last][1])
        if score > max(self.least, float(start[0] * end[0])) and span.start < span.end:
            yield span, score
