"""The documentation site: what `make docs` builds it from."""

import importlib
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from rlds_kit.lint import RULES
from rlds_kit.lint.catalogue import page

CHECKOUT = Path(__file__).parent.parent
DOCS = CHECKOUT / "docs"
PUBLIC = (
    *("rlds_kit", "rlds_kit.layers", "rlds_kit.lint", "rlds_kit.logger", "rlds_kit.riegeli", "rlds_kit.spec"),
    *("rlds_kit.tfds_builders", "rlds_kit.transformations", "rlds_kit.trials", "rlds_kit.trials.ray"),
    *("rlds_kit.base", "rlds_kit.convert", "rlds_kit.dataset", "rlds_kit.episode", "rlds_kit.loader"),
    *("rlds_kit.remote", "rlds_kit.storage", "rlds_kit.shaping.language", "rlds_kit.shaping.manuals"),
    "rlds_kit.shaping.objects",
    *("rlds_kit.tools.compare", "rlds_kit.tools.edit", "rlds_kit.tools.plot", "rlds_kit.tools.publish"),
    *("rlds_kit.tools.replay", "rlds_kit.tools.upkeep", "rlds_kit.tools.video"),
    *("rlds_kit.compat.envlogger", "rlds_kit.compat.reverb", "rlds_kit.compat.rlds"),
    *("rlds_kit.compat.rlds.tfds", "rlds_kit.compat.rlds.transformations"),
)

pytestmark = pytest.mark.skipif(not (DOCS / "website.py").exists(), reason="a wheel holds no docs")


@pytest.fixture(scope="module")
def website() -> dict[str, Any]:
    """The names of docs/website.py."""
    return runpy.run_path(str(DOCS / "website.py"))


@pytest.fixture(scope="module")
def pages(website: dict[str, Any]) -> dict[str, str]:
    """All pages by their places."""
    made: dict[str, str] = website["pages"]()
    return made


@pytest.fixture(scope="module")
def navigation(website: dict[str, Any], pages: dict[str, str]) -> list[str]:
    """The places that the navigation of the site has, in order."""
    return re.findall(r"([\w./-]+\.md)$", website["settings"](pages), re.MULTILINE)


@pytest.mark.parametrize("module", PUBLIC)
def test_reference_has_every_public_name(module: str, pages: dict[str, str]) -> None:
    """The names of `__all__` as Python sees it, each with a section of its own."""
    names = importlib.import_module(module).__all__
    text = pages[f"reference/{module}.md"]
    sections = re.findall(rf"^(?:::: {re.escape(module)}\.|## )(\w+)$", text, re.MULTILINE)
    assert set(names) <= set(sections)


def test_every_module_of_tools_and_compat_is_in_the_reference(website: dict[str, Any], pages: dict[str, str]) -> None:
    """If it has an `__all__`."""
    folders = {"rlds_kit.tools": CHECKOUT / "rlds_kit" / "tools", "rlds_kit.compat": CHECKOUT / "compat"}
    expected = {
        ".".join((name, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        for name, folder in folders.items()
        for path in folder.rglob("*.py")
        if re.search(r"^__all__\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert len(expected) > 20
    assert [name for name in expected if f"reference/{name}.md" not in pages] == []


def test_every_page_is_in_the_navigation_once(pages: dict[str, str], navigation: list[str]) -> None:
    """Those under docs/, and those that are made."""
    assert sorted(navigation) == sorted(pages)
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} <= set(navigation)


def test_start_leads_to_the_four_jobs(pages: dict[str, str]) -> None:
    """Each with a short block of code and a link to more."""
    parts = re.split(r"^## ", pages["index.md"], flags=re.MULTILINE)[1:]
    for name in ("Record", "Load in training", "Transform", "Share and publish"):
        (part,) = (each for each in parts if each.startswith(f"{name}\n"))
        assert re.search(r"\]\(\w+\.md", part), name
        assert 1 <= part.split("```")[1].count("\n") <= 12, name


@pytest.mark.parametrize("identifier", RULES)
def test_every_rule_has_a_page_that_the_overview_links(identifier: str, pages: dict[str, str]) -> None:
    assert pages[f"lint/{identifier}.md"] == page(RULES[identifier])
    assert f"| [{identifier}](lint/{identifier}.md) |" in pages["lint.md"]


def test_generated_pages_are_not_committed() -> None:
    """They follow from docstrings."""
    assert not (DOCS / "lint").exists()
    assert not (DOCS / "reference").exists()


def test_links_lead_to_pages_of_the_site(pages: dict[str, str]) -> None:
    """Also those of files that are elsewhere in the repository. Images are copied as they are."""
    broken = []
    for place, text in pages.items():
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"(?<!`)\]\(([^)\s#:]+)(?:#[^)]*)?\)", prose):
            path = (DOCS / place).parent.joinpath(target).resolve().relative_to(DOCS.resolve()).as_posix()
            if path not in pages and not path.startswith("images/"):
                broken.append((place, target))
    assert broken == []


def test_links_are_adapted(website: dict[str, Any]) -> None:
    """To places of the site, to the repository if it has an address, or to plain text."""
    adapt = website["with_links"]
    assert adapt("[a](../architecture.md#b)", "docs/decisions/x.md", "decisions/x.md") == "[a](../architecture.md#b)"
    assert adapt("[a](docs/lint.md)", "CHANGELOG.md", "changelog.md") == "[a](lint.md)"
    assert adapt("[a](decisions)", "docs/format.md", "format.md") == "[a](decisions/index.md)"
    assert adapt("[a](../CHANGELOG.md)", "docs/format.md", "format.md") == "[a](changelog.md)"
    assert adapt("[a](https://example.org/x.md)", "docs/format.md", "format.md") == "[a](https://example.org/x.md)"
    assert adapt("```\n[a](setup.py)\n```", "README.md", "index.md") == "```\n[a](setup.py)\n```"
    assert "`a`" in adapt("[`a`](../setup.py)", "docs/format.md", "format.md")


def test_doctests_are_fenced() -> None:
    """`>>>` would begin a quotation in Markdown."""
    fenced = runpy.run_path(str(DOCS / "doctests.py"))["fenced"]
    assert fenced("Adds.\n\n>>> 1 + 1\n2\n\nMore.") == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    assert fenced("Args:\n  a: number.\n") == "Args:\n  a: number.\n"
