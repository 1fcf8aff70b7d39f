"""All rules, and the choice of some."""

import importlib
import pkgutil
from collections.abc import Iterable
from typing import Final

from rlds_kit.lint import rules
from rlds_kit.lint.rule import DECLARED, Rule

for _module in pkgutil.iter_modules(rules.__path__):  # which declare them
    importlib.import_module(f"{rules.__name__}.{_module.name}")
RULES: Final[dict[str, Rule]] = dict(sorted(DECLARED.items()))
"""The rules by id, in the order of ids."""
UNREADABLE: Final = RULES["RK001"]


def chosen(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> list[Rule]:
    """The rules of some ids.

    Args:
      select: ids, or beginnings of ids such as "RK2"; none are all.
      ignore: likewise, of rules to leave out.

    Raises:
      ValueError: there is no such rule.

    >>> [rule.id for rule in chosen(["RK4"], ["RK402"])]
    ['RK401']
    """
    wanted, unwanted = tuple(_known(select)), tuple(_known(ignore))
    return [
        each
        for identifier, each in RULES.items()
        if (not wanted or identifier.startswith(wanted)) and not (unwanted and identifier.startswith(unwanted))
    ]


def _known(names: Iterable[str]) -> Iterable[str]:
    for name in names:
        beginning = name.upper()
        if not beginning or not any(identifier.startswith(beginning) for identifier in RULES):
            raise ValueError(f"expected ids of rules or beginnings of them, of {', '.join(RULES)}, got {name!r}")
        yield beginning


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
