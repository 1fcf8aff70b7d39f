"""Prepares the pages of the documentation site: `python docs/website.py build/docs`, then the site is built from there.

The pages under docs/ are copied, and what follows from the code is written beside them: the reference of all public
names, the page of each rule of `rlds-kit lint`, and the list of decisions. Links that leave docs/ are adapted. The
settings, with the navigation, are `mkdocs.yml`; a pattern in its navigation stands for all pages that it matches.
"""

import argparse
import ast
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from rlds_kit.install import REPOSITORY
from rlds_kit.lint import RULES
from rlds_kit.lint.catalogue import page

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
SETTINGS: Final = ROOT / "mkdocs.yml"
PLACES: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "docs/decisions": "decisions/index.md",
}
"""Where files and folders of the repository are on the site, other than those under docs/."""

ROOMS: Final = (
    "rlds_kit",
    "rlds_kit.logger",
    "rlds_kit.transformations",
    "rlds_kit.tfds_builders",
    "rlds_kit.spec",
    "rlds_kit.layers",
    "rlds_kit.riegeli",
    "rlds_kit.trials",
    "rlds_kit.trials.ray",
    "rlds_kit.lint",
    "rlds_kit.base",
    "rlds_kit.dataset",
    "rlds_kit.episode",
    "rlds_kit.loader",
    "rlds_kit.remote",
    "rlds_kit.storage",
)
"""Modules in the reference. Those below the following ones are added if they have an `__all__`."""
TREES: Final = ("rlds_kit.crowd", "rlds_kit.shaping", "rlds_kit.convert", "rlds_kit.tools", "rlds_kit.compat")

SUMMARY: Final = """\
    options:
      members: false
      show_root_heading: false
      show_root_toc_entry: false"""
"""Of a module, only its docstring."""

LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s#:]+)(#[^()\s]*)?\)")
FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PATTERN: Final = re.compile(r"( +)- ([\w./]+)\*")


def public_names(module: str) -> list[str]:
    """The names in the `__all__` of a module, sorted; empty if it has none. Nothing is imported."""
    names: list[str] = []
    for node in ast.walk(ast.parse(_source(module).read_text("utf-8"))):
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=items)):
                names += [ast.literal_eval(each) for each in items]
            case ast.AugAssign(target=ast.Name(id="__all__"), value=ast.List(elts=items)):
                names += [ast.literal_eval(each) for each in items]
            case ast.AugAssign(target=ast.Name(id="__all__"), value=ast.Attribute(ast.Name(below), "__all__")):
                names += public_names(f"{module}.{below}")
    return sorted(set(names), key=lambda name: (name.casefold(), name))


@cache
def modules() -> list[str]:
    """All modules in the reference, in the order of its navigation."""
    found = list(ROOMS)
    for tree in TREES:
        folder = _source(tree).parent
        files = (path.relative_to(ROOT).with_suffix("") for path in sorted(folder.rglob("*.py")))
        names = (".".join(path.parts).removesuffix(".__init__") for path in files)
        found += sorted(name for name in names if public_names(name))
    return found


def _source(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def reference(module: str) -> str:
    """The page of a module: its docstring, then a section for each public name.

    A public name that is itself a module with a page is a link to that page.
    """
    parts = [f"# {module}", f"::: {module}\n{SUMMARY}"]
    for name in public_names(module):
        whole = f"{module}.{name}"
        if whole in modules():
            parts.append(f"## {name}\n\nA module: [`{whole}`]({whole}.md).")
        else:
            parts.append(f"::: {whole}")
    return "\n\n".join(parts) + "\n"


def rule_links(text: str) -> str:
    """The tables of docs/lint.md with links to the pages of the rules, which only the site has."""
    return re.sub(r"^\| (RK\d{3}) \|", r"| [\1](lint/\1.md) |", text, flags=re.MULTILINE)


def with_links(text: str, source: str, place: str) -> str:
    """A page whose links lead to the places that their targets have on the site.

    Targets that are not on the site are on the repository's; as long as it has no address, only the text remains.

    Args:
      text: the page.
      source: where it is in the repository, such as `docs/index.md`.
      place: where it is on the site, such as `index.md`.
    """

    def replaced(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = os.path.normpath(PurePosixPath(source).parent / target).replace(os.sep, "/")
        on_site = PLACES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        if on_site is None:
            return f"[{words}]({REPOSITORY}/blob/main/{path}{anchor})" if REPOSITORY else words
        relative = os.path.relpath(on_site, PurePosixPath(place).parent).replace(os.sep, "/")
        return f"[{words}]({relative}{anchor})"

    return "".join(part if number % 2 else LINK.sub(replaced, part) for number, part in enumerate(_cut_at_code(text)))


def _cut_at_code(text: str) -> Iterator[str]:
    """Prose and code in turns, beginning with prose."""
    end = 0
    for found in FENCE.finditer(text):
        yield text[end : found.start()]
        yield found[0]
        end = found.end()
    yield text[end:]


def title(text: str) -> str:
    r"""The first heading of a page.

    >>> title("# 0001: a decision\n\n## Problem\n")
    '0001: a decision'
    """
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"expected a page that begins with a heading `# ...`, got {text[:40]!r}")
    return found[1]


def pages() -> dict[str, str]:
    """All pages of the site by their places."""
    sources = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
    files = {place: (f"docs/{place}", path) for place, path in sources.items()}
    files |= {PLACES[name]: (name, ROOT / name) for name in ("CHANGELOG.md", "CONTRIBUTING.md")}
    made = {place: with_links(path.read_text("utf-8"), name, place) for place, (name, path) in files.items()}
    made["lint.md"] = rule_links(made["lint.md"])
    made |= {f"lint/{rule.id}.md": page(rule) for rule in RULES.values()}
    made |= {f"reference/{module}.md": reference(module) for module in modules()}
    made["decisions/index.md"] = _decisions(made)
    made["reference/index.md"] = _contents()
    return made


def _decisions(made: dict[str, str]) -> str:
    """The list of decisions."""
    places = sorted(place for place in made if place.startswith("decisions/"))
    rows = [f"- [{title(made[place])}]({place.removeprefix('decisions/')})" for place in places]
    return "\n".join(["# Decisions", "", "Each with the problem, the choice, and what was rejected.", "", *rows, ""])


def _contents() -> str:
    """The list of modules in the reference."""
    rows = [f"| [`{module}`]({module}.md) | {_summary(module)} |" for module in modules()]
    text = "Everything that a public module lists in its `__all__`."
    return "\n".join(["# API reference", "", text, "", "| module | what |", "|---|---|", *rows, ""])


def _summary(module: str) -> str:
    text = ast.get_docstring(ast.parse(_source(module).read_text("utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ")


def settings(made: dict[str, str]) -> str:
    """mkdocs.yml with the pages in place of the patterns in its navigation.

    A page that has a line of its own in the navigation, such as the index of a folder, is not listed again.
    """
    text = SETTINGS.read_text("utf-8")
    named = set(re.findall(r"[\w./-]+\.md$", text, re.MULTILINE))
    lines: list[str] = []
    for line in text.splitlines():
        found = PATTERN.fullmatch(line)
        if found is None:
            lines.append(line)
            continue
        indent, prefix = found[1], found[2]
        found_places = (place for place in made.keys() - named if place.startswith(prefix))
        for place in sorted(found_places, key=lambda place: place.removesuffix(".md")):
            if prefix.startswith("reference/"):
                words = place.removeprefix(prefix).removesuffix(".md")
            else:
                words = title(made[place]).replace('"', "'").replace("`", "")
            lines.append(f'{indent}- "{words}": {place}')
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Writes the pages into `folder`, anew, and the settings beside it as `mkdocs.yml`."""
    shutil.rmtree(folder, ignore_errors=True)
    made = pages()
    for place, text in made.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for name in ("images", "stylesheets"):
        shutil.copytree(DOCS / name, folder / name)
    (folder.parent / "mkdocs.yml").write_text(settings(made), "utf-8")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="what is there is replaced; the settings are written beside it")
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
