"""The index of sentences gives what a comparison of the question with every sentence gives, bit for bit."""

from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.shaping.manuals import Manual, WordAnswerer
from rlds_kit.shaping.manuals.answering import joined
from rlds_kit.shaping.manuals.manual import MOST_BYTES
from rlds_kit.shaping.manuals.sentence_index import SentenceIndex
from rlds_kit.shaping.manuals.sentences import Span, sentences
from rlds_kit.shaping.manuals.tf_idf import similarity, vectors

WORDS = st.sampled_from(["ghost", "ghosts", "eat", "dots.", "Avoid", "the", "a", "monkey!", "hit", "\n\n", "score"])
TEXTS = st.lists(WORDS, max_size=30).map(" ".join)


@given(text=TEXTS, question=TEXTS)
def test_scores_are_those_of_all_sentences(text: str, question: str) -> None:
    """Those that are left out have none."""
    spans = list(sentences(text))
    wanted, *weights = vectors([question, *(text[start:end] for start, end in spans)])
    expected = [(span, similarity(wanted, each)) for span, each in zip(spans, weights, strict=True)]
    index = SentenceIndex(text, Span(0, len(text)))
    assert list(index.scores(question, zeros=True)) == expected
    assert list(index.scores(question, zeros=False)) == [each for each in expected if each[1] > 0]


@given(st.dictionaries(st.tuples(st.integers(0, 9), st.integers(1, 9)), st.floats(0, 1), max_size=9))
def test_passages_inside_others_are_left_out(places: dict[tuple[int, int], float]) -> None:
    """Each compared with each."""
    found = {Span(start, start + length): score for (start, length), score in places.items()}
    outer = [each for each in found if not any(o != each and o[0] <= each[0] and each[1] <= o[1] for o in found)]
    assert joined("x" * 20, found).spans == tuple(sorted(outer))


def test_a_megabyte_has_an_answer() -> None:
    """One in a hundred sentences is about ghosts; the time grows with the text and not with its square."""
    text = ("Avoid a ghost. " + "Nothing happens here at all. " * 99) * 360
    manual = Manual("Pac", text[:MOST_BYTES], "a test")
    answer = WordAnswerer().answer("What happens when the player hit a ghost?", manual)
    assert len(answer.spans) == 360
