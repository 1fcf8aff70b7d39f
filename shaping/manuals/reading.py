"""Converts a manual to a table: answers to the generic questions and to a question about each object are judged."""

from collections.abc import Mapping, Sequence
from typing import Final

from rlds_kit.shaping.manuals.answering import QuestionAnswerer, WordAnswerer, mentions
from rlds_kit.shaping.manuals.game_objects import GAMES
from rlds_kit.shaping.manuals.interaction import Interaction
from rlds_kit.shaping.manuals.manual import Manual, ManualError
from rlds_kit.shaping.manuals.questions import GENERIC, context, object_question
from rlds_kit.shaping.manuals.reasoning import Judgement, Reasoner, WordReasoner
from rlds_kit.shaping.manuals.table import InteractionTable

_UNKNOWN: Final = Judgement(0.5, "abstain")


def objects_of(game: str) -> Mapping[str, Sequence[str]]:
    """The categories of objects of a game, with their names in manuals.

    Raises:
      ManualError: the game is unknown.

    >>> objects_of("Skiing")["Flag"]
    ('gate', 'flag')
    """
    if game not in GAMES:
        raise ManualError(
            f"the words for objects of {game!r} are not known: expected {', '.join(GAMES)}, or words of your own"
        )
    return GAMES[game].words


def read_manual(
    manual: Manual,
    *,
    objects: Mapping[str, Sequence[str]] | None = None,
    answerer: QuestionAnswerer | None = None,
    reasoner: Reasoner | None = None,
) -> InteractionTable:
    """Converts a manual to a table of interactions (the paper's section 3).

    Args:
      manual: of the game.
      objects: for each category its possible names in the manual; None: those of `objects_of` for the manual's game.
      answerer: finds answers in the manual; None: `WordAnswerer`.
      reasoner: judges them; None: `WordReasoner`.

    Raises:
      ManualError: `objects` is None, and the game is unknown.

    >>> from rlds_kit.shaping.manuals import Manual, read_manual
    >>> manual = Manual("Pac", "Eat every dot to score points. Avoid each ghost, or you lose a life.", "an example")
    >>> table = read_manual(manual, objects={"Pill": ["dot"], "Ghost": ["ghost"], "Wall": ["wall"]})
    >>> [(each.object, each.verdict, each.reward) for each in table.interactions]
    [('Pill', 'yes', 5.0), ('Ghost', 'no', -5.0), ('Wall', 'abstain', 0.0)]
    """
    objects = objects_of(manual.game) if objects is None else objects
    answerer = answerer or WordAnswerer()
    reasoner = reasoner or WordReasoner()
    answers = [answerer.answer(question, manual) for question in GENERIC]
    generic = [(question, answer.text) for question, answer in zip(GENERIC, answers, strict=True)]
    interactions = [
        _interaction(manual, category, words, generic, answerer, reasoner) for category, words in objects.items()
    ]
    return InteractionTable(
        game=manual.game,
        source=manual.source,
        licence=manual.licence,
        manual_sha256=manual.sha256,
        answerer=answerer.fingerprint,
        reasoner=reasoner.fingerprint,
        interactions=tuple(interactions),
        replies=tuple(reply for answer in answers for reply in answer.replies),
    )


def _interaction(
    manual: Manual,
    category: str,
    words: Sequence[str],
    generic: Sequence[tuple[str, str]],
    answerer: QuestionAnswerer,
    reasoner: Reasoner,
) -> Interaction:
    """Judges one kind of object; one that the manual does not mention is not judged."""
    word = next((each for each in words if mentions(manual, [each])), "")
    if not word:
        return Interaction(category, "", context(generic), _UNKNOWN.yes, _UNKNOWN.verdict)
    question = object_question(word)
    answer = answerer.answer(question, manual)
    text = context([*generic, (question, answer.text)])
    judged = reasoner.judge(text, word)
    replies = answer.replies + judged.replies
    return Interaction(category, word, text, round(judged.yes, 6), judged.verdict, replies=replies)
