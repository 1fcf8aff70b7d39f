"""The page of a rule, from its docstring."""

from typing import Final

from rlds_kit.lint.rule import Rule

HEADINGS: Final = ("What it finds", "Why it matters", "How to fix it")
SILENCE: Final = "How to silence it"


def page(rule: Rule) -> str:
    """The page of a rule as Markdown: what `rlds-kit lint --explain` prints, and a page of the documentation site.

    >>> from rlds_kit.lint.catalogue import RULES
    >>> print(page(RULES["RK604"]).splitlines()[0])
    # RK604: An episode has no action
    """
    paragraphs = rule.text.split("\n\n")
    parts = [f"# {rule.id}: {rule.title}", f"`{rule.name}`, {_article(rule.severity.value)}."]
    for heading, paragraph in zip(HEADINGS, paragraphs, strict=True):
        parts += [f"## {heading}", paragraph]
    parts += [f"## {SILENCE}", f'`rlds-kit lint DATASET --ignore {rule.id}`, or `lint(..., ignore=["{rule.id}"])`.']
    return "\n\n".join(parts) + "\n"


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
