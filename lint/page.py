"""The page of a rule, from its docstring."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rlds_kit.lint.rule import Rule

HEADINGS: Final = ("What it finds", "Why it matters", "How to mend it")
SILENCE: Final = "How to silence it"


def page(rule: Rule) -> str:
    """The page of a rule as Markdown, which is also docs/lint/<id>.md.

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


def write(directory: Path, rules: Iterable[Rule]) -> None:
    """Writes the page of every rule into a directory, and takes away those of rules that are gone."""
    pages = {directory / f"{rule.id}.md": page(rule) for rule in rules}
    for path in set(directory.glob("RK*.md")) - pages.keys():
        path.unlink()
    for path, text in pages.items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    from rlds_kit.lint.catalogue import RULES

    write(Path(sys.argv[1]), RULES.values())
