"""MiniLM from packages: the real weights, and results pinned as they are, wrong ones included."""

import math

import pytest

from rlds_kit.base.extras import MissingExtraError
from rlds_kit.shaping.language import MiniLM, MiniLMAnswerer, MiniLMReasoner, ModelError, minilm
from rlds_kit.shaping.manuals import Manual, WordAnswerer, WordReasoner, read_manual, shipped_manual
from tests.shaping.manuals.test_reading import LABELS, PAPER


@pytest.fixture(scope="module")
def model() -> MiniLM:
    """Loaded once."""
    return MiniLM()


def _readers(model: MiniLM) -> tuple[MiniLMAnswerer, MiniLMReasoner]:
    return MiniLMAnswerer(model=model), MiniLMReasoner(model=model)


def test_sentences_that_mean_the_same_are_near(model: MiniLM) -> None:
    """Whatever was read before; a vector has the length 1."""
    near = model.similarity("The ghost kills you.", "You die when a ghost touches you.")
    far = model.similarity("The ghost kills you.", "The shop opens at nine.")
    assert (near > 0.6, far < 0.3) == (True, True)
    assert math.isclose(float(model.vector("Hit the ball.") @ MiniLM().vector("Hit the ball.")), 1, abs_tol=1e-4)


def test_verdicts_against_labels(model: MiniLM) -> None:
    """Two games here; the table of all nine is in the docs."""
    wrong, readers = set(), _readers(model)
    for game in ("Pong", "Riverraid"):
        table = read_manual(shipped_manual(game), answerer=readers[0], reasoner=readers[1])
        labels = LABELS[game].split()
        named = dict(zip(labels[::2], labels[1::2], strict=True))
        wrong |= {f"{game} {name}" for name, label in named.items() if table[name].verdict != label}
    assert wrong == {"Pong Enemy"}
    assert "all-MiniLM-L6-v2-int8@8199be6f699a395f" in table.answerer
    assert "all-MiniLM-L6-v2-int8@8199be6f699a395f" in table.reasoner


@pytest.mark.parametrize(
    ("game", "verdicts"),
    [
        ("Breakout", {"ball": "no"}),  # the paper: yes
        ("Skiing", {"tree": "no", "flag": "yes"}),
        ("MsPacman", {"ghost": "yes"}),  # the paper: no
        ("Tennis", {"ball": "abstain"}),  # the paper: yes, though the text mentions no ball
    ],
)
def test_examples_of_the_paper(model: MiniLM, game: str, verdicts: dict[str, str]) -> None:
    manual = Manual(game, PAPER[game], source="the paper")
    answerer, reasoner = _readers(model)
    table = read_manual(manual, objects={word: [word] for word in verdicts}, answerer=answerer, reasoner=reasoner)
    assert {each.object: each.verdict for each in table.interactions} == verdicts


def test_other_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is missing, and one whose file has changed."""
    monkeypatch.setattr(minilm, "_WEIGHTS", ("json", "decoder.py", "0" * 16))
    with pytest.raises(ModelError, match=r"decoder\.py: expected the SHA-256 0000.*install json anew"):
        MiniLM()
    monkeypatch.setattr(minilm, "_WEIGHTS", ("no_such_package", "model.onnx", "0" * 16))
    with pytest.raises(MissingExtraError, match=r"no_such_package is not installed: .*minilm"):
        MiniLM()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reads", "judges", "right", "of_paper"),
    [("words", "words", 27, 1), ("words", "minilm", 27, 2), ("minilm", "words", 28, 1), ("minilm", "minilm", 28, 2)],
)
def test_the_table_of_readers_in_the_docs(model: MiniLM, reads: str, judges: str, right: int, of_paper: int) -> None:
    """Right verdicts on the 31 objects of the shipped manuals, and on the five of the paper's own short texts."""
    minilm_answerer, minilm_reasoner = _readers(model)
    answerer = minilm_answerer if reads == "minilm" else WordAnswerer()
    reasoner = minilm_reasoner if judges == "minilm" else WordReasoner()
    found = 0
    for game, text in LABELS.items():
        table = read_manual(shipped_manual(game), answerer=answerer, reasoner=reasoner)
        found += sum(
            table[name].verdict == label for name, label in zip(text.split()[::2], text.split()[1::2], strict=True)
        )
    published = {"Breakout": "ball yes", "Skiing": "tree no flag yes", "MsPacman": "ghost no", "Tennis": "ball yes"}
    of_them = 0
    for game, text in published.items():
        labels = dict(zip(text.split()[::2], text.split()[1::2], strict=True))
        manual = Manual(game, PAPER[game], source="the paper")
        table = read_manual(manual, objects={word: [word] for word in labels}, answerer=answerer, reasoner=reasoner)
        of_them += sum(table[word].verdict == label for word, label in labels.items())
    assert (found, of_them) == (right, of_paper)
