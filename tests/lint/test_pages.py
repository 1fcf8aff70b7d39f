"""Every rule has a page, and the page says what the rule's own docstring says."""

from pathlib import Path

import pytest

from rlds_kit.lint import RULES
from rlds_kit.lint.page import HEADINGS, page

DOCS = Path(__file__).parent.parent.parent / "docs"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="a wheel holds no docs")


@pytest.mark.parametrize("identifier", RULES)
def test_page_agrees_with_the_docstring(identifier: str) -> None:
    """Write docs/lint anew with `python -m rlds_kit.lint.page docs/lint`."""
    assert (DOCS / "lint" / f"{identifier}.md").read_text("utf-8") == page(RULES[identifier])


def test_no_page_without_a_rule() -> None:
    """Pages of rules that are gone are gone."""
    assert {each.stem for each in (DOCS / "lint").glob("*.md")} == set(RULES)


@pytest.mark.parametrize("identifier", RULES)
def test_overview_has_the_rule(identifier: str) -> None:
    """With its severity and title, and a link to its page."""
    rule = RULES[identifier]
    row = f"| [{rule.id}](lint/{rule.id}.md) | {rule.severity.value} | {rule.title} |"
    assert row in (DOCS / "lint.md").read_text("utf-8").splitlines()


def test_page_has_all_parts() -> None:
    """What, why, how to mend it, how to silence it."""
    text = page(RULES["RK101"])
    assert [heading for heading in HEADINGS if f"## {heading}\n" not in text] == []
    assert "--ignore RK101" in text
