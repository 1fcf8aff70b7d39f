"""Readers with models of Hugging Face: the real classes, with tiny random models in folders."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from rlds_kit.shaping.language import (
    EntailmentReasoner,
    ExtractiveAnswerer,
    ModelAnswerer,
    ModelError,
    ModelReasoner,
    TransformersModel,
)
from rlds_kit.shaping.language.entailment import HYPOTHESIS
from rlds_kit.shaping.manuals import InteractionTable, Manual, read_manual
from rlds_kit.shaping.manuals.answering import joined
from rlds_kit.shaping.manuals.sentences import Span
from tests.shaping.language.tiny_models import LONGEST, make

MANUAL = Manual("Pac", "Eat each pill to score. Avoid the ghost. " * 12, "a test")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny models are slower in several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of each kind."""
    home = tmp_path_factory.mktemp("models")
    for kind in ("extractive", "nli", "causal", "seq2seq"):
        make(home / kind, kind)
    return home


def test_passages_are_the_most_probable_of_their_windows(folder: Path) -> None:
    """Compared with every pair of tokens of every window; all are in the manual."""
    answerer = replace(ExtractiveAnswerer.load(str(folder / "extractive")), most_tokens=5)
    question = "Who is the ghost?"
    answer = answerer.answer(question, MANUAL)
    expected = list(_best_of_windows(folder / "extractive", question, answerer))
    assert len(expected) > 1
    assert answer.spans == joined(MANUAL.text, dict.fromkeys(expected, 1.0)).spans
    assert answer.text == " ".join(" ".join(MANUAL.text[start:end].split()) for start, end in answer.spans)
    assert answer.spans


def _best_of_windows(path: Path, question: str, answerer: ExtractiveAnswerer) -> Iterator[Span]:
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(path)
    network = transformers.AutoModelForQuestionAnswering.from_pretrained(path)
    tokens = tokenizer(MANUAL.text, add_special_tokens=False, return_offsets_mapping=True)
    asked = tokenizer(question, add_special_tokens=False)["input_ids"]
    room = LONGEST - len(asked) - 3
    for first in range(0, len(tokens["input_ids"]), room - LONGEST // 4):
        part = tokens["input_ids"][first : first + room]
        ids = torch.tensor([[0, *asked, 2, *part, 2]])
        with torch.no_grad():
            output = network(ids)
        start, end = (each[0].softmax(-1) for each in (output.start_logits, output.end_logits))
        shift = len(asked) + 2
        pairs = [(i, j) for i in range(len(part)) for j in range(i, min(i + answerer.most_tokens, len(part)))]
        best = max(pairs, key=lambda pair: float(start[pair[0] + shift] * end[pair[1] + shift]))
        if start[best[0] + shift] * end[best[1] + shift] > start[0] * end[0]:
            yield Span(tokens["offset_mapping"][first + best[0]][0], tokens["offset_mapping"][first + best[1]][1])
        if first + room >= len(tokens["input_ids"]):
            return


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_models_say_what_is_most_probable(folder: Path, kind: Any) -> None:
    """Not what a model's own file wishes; probabilities are those of a direct computation."""
    model = TransformersModel.load(str(folder / kind), kind)
    reply = model.say("Judge.", "Hit a ghost? ", most_tokens=3)
    assert reply == TransformersModel.load(str(folder / kind), kind).say("Judge.", "Hit a ghost? ", most_tokens=3)
    tokenizer, network = model.pretrained.tokenizer, model.pretrained.network
    ids = tokenizer("Judge.\n\nHit a ghost?", return_tensors="pt")["input_ids"]
    extra = {"decoder_input_ids": torch.tensor([[1]])} if kind == "seq2seq" else {}
    with torch.no_grad():
        logarithms = network(input_ids=ids, **extra).logits[0, -1].log_softmax(-1)
    token, logarithm = reply.log_probabilities[0]
    assert math.isclose(logarithm, float(logarithms.max()), rel_tol=1e-4)
    assert token == tokenizer.decode([int(logarithms.argmax())])
    assert len(reply.log_probabilities) == 20


@pytest.mark.slow
def test_a_chat_template_is_used(tmp_path: Path) -> None:
    """And a prompt that is too long is refused."""
    template = "{% for each in messages %}<{{ each.role }}>{{ each.content }}{% endfor %}"
    path = make(tmp_path, "causal", chat_template=template)
    model = TransformersModel.load(str(path))
    inputs = model._inputs("Judge.", "Hit a ghost?")
    assert model.pretrained.tokenizer.decode(inputs["input_ids"][0]).strip() == "<system>Judge.<user>Hit a ghost?"
    with pytest.raises(ModelError, match=r"at most 80 tokens, got \d+: use smaller chunks"):
        model.say("", MANUAL.text, most_tokens=1)


@pytest.mark.slow
def test_entailment_is_compared_with_contradiction(folder: Path) -> None:
    """The end of a long text is what counts: there the object is."""
    reasoner = EntailmentReasoner.load(str(folder / "nli"))
    judged = reasoner.judge(MANUAL.text + "The end is near.", "ghost")
    tokenizer, network = reasoner.pretrained.tokenizer, reasoner.pretrained.network
    hypothesis = tokenizer(HYPOTHESIS.replace("{object}", "ghost"), add_special_tokens=False)["input_ids"]
    premise = tokenizer(MANUAL.text + "The end is near.", add_special_tokens=False)["input_ids"]
    ids = torch.tensor([[0, *premise[-(LONGEST - 3 - len(hypothesis)) :], 2, *hypothesis, 2]])
    with torch.no_grad():
        contradiction, _, entailment = network(input_ids=ids).logits[0].softmax(-1).tolist()
    assert math.isclose(judged.yes, entailment / (entailment + contradiction), rel_tol=1e-4)
    assert [label for label, _ in judged.replies[0].log_probabilities] == ["contradiction", "entailment", "neutral"]


@pytest.mark.slow
def test_tables_name_the_weights(folder: Path, tmp_path: Path) -> None:
    """Other weights in a folder of the same name are another reader."""
    answerer = ExtractiveAnswerer.load(str(folder / "extractive"))
    causal = TransformersModel.load(str(folder / "seq2seq"), "seq2seq")
    table = read_manual(MANUAL, objects={"Ghost": ["ghost"]}, answerer=answerer, reasoner=ModelReasoner(causal))
    assert InteractionTable.from_json(table.to_json()) == table
    assert causal.pretrained.fingerprint in table.reasoner
    assert ModelAnswerer(causal).answer("Who?", MANUAL).replies[0].model == causal.pretrained.fingerprint
    other = make(tmp_path / "extractive", "extractive")
    assert ExtractiveAnswerer.load(str(other)).fingerprint == answerer.fingerprint
    config = other / "config.json"
    config.write_text(config.read_text("utf-8").replace('"layer_norm_eps": 1e-12', '"layer_norm_eps": 1e-3'), "utf-8")
    assert ExtractiveAnswerer.load(str(other)).fingerprint != answerer.fingerprint


def test_a_model_that_is_not_there_is_an_error(folder: Path, tmp_path: Path) -> None:
    """Offline, of another kind, of other labels, or no model at all: nothing else is loaded in its place."""
    with pytest.raises(ModelError, match=r"(?s)nobody/none: expected .*offline.*no other model is used"):
        TransformersModel.load("nobody/none", is_offline=True)
    with pytest.raises(ModelError, match=r"expected a folder with a model"):
        ExtractiveAnswerer.load(str(tmp_path), is_offline=True)
    with pytest.raises(ModelError, match=r"got one without qa_outputs.bias, .*made for another purpose"):
        ExtractiveAnswerer.load(str(folder / "nli"))
    (tmp_path / "labels").mkdir()
    for each in (folder / "nli").iterdir():
        text = each.read_bytes().replace(b"ENTAILMENT", b"POSITIVE")
        (tmp_path / "labels" / each.name).write_bytes(text)
    with pytest.raises(ModelError, match=r"got contradiction, neutral, positive"):
        EntailmentReasoner.load(str(tmp_path / "labels"))
