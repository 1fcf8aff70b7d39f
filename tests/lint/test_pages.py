"""The overview has every rule, and the page of a rule has the text of its docstring."""

from pathlib import Path

import pytest

from rlds_kit.lint import RULES
from rlds_kit.lint.catalogue import HEADINGS, page

DOCS = Path(__file__).parent.parent.parent / "docs"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="a wheel holds no docs")


@pytest.mark.parametrize("identifier", RULES)
def test_overview_has_the_rule(identifier: str) -> None:
    """With its severity and title; the site adds the link to its page (tests/test_site.py)."""
    rule = RULES[identifier]
    row = f"| {rule.id} | {rule.severity.value} | {rule.title} |"
    assert row in (DOCS / "lint.md").read_text("utf-8").splitlines()


def test_page_has_all_parts() -> None:
    """What, why, how to fix it, how to silence it."""
    text = page(RULES["RK101"])
    assert [heading for heading in HEADINGS if f"## {heading}\n" not in text] == []
    assert "--ignore RK101" in text


def test_names_are_those_of_the_classes_in_words() -> None:
    """What pages, tables and reports call a rule: they stay, like the ids."""
    assert [RULES[each].name for each in ("RK001", "RK302", "RK504")] == [
        "unreadable",
        "not-a-number-elsewhere",
        "reused-seed",
    ]
