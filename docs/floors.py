"""Draws the floors of the code from the contracts in pyproject.toml: the table and the picture of architecture.md."""

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "architecture.md"
PICTURE: Final = ROOT / "docs" / "images" / "floors.svg"
BEGIN: Final = "<!-- floors: written by docs/floors.py -->\n"
END: Final = "<!-- end of floors -->\n"
_WIDTH, _HEIGHT, _GAP, _MARGIN = 900, 34, 8, 16


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, or a module that stands alone.

    Attributes:
      name: as it is imported.
      summary: the first sentence of its docstring.
    """

    name: str
    summary: str


def floors(contract: str) -> list[list[Folder]]:
    """The floors of a contract, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (found,) = (each for each in contracts if each["id"] == contract)
    (container,) = found["containers"]
    return [[_folder(f"{container}.{name.strip()}") for name in layer.split("|")] for layer in found["layers"]]


def _folder(name: str) -> Folder:
    path = ROOT.joinpath(*name.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return Folder(name, doc.partition("\n\n")[0].replace("\n", " "))


def table() -> str:
    """The floors in Markdown, the highest first; a folder of the package is linked to what it holds."""
    rows = ["| floor | folder | what |", "|---|---|---|"]
    every = floors("floors")
    for number, floor in zip(range(len(every) - 1, -1, -1), every, strict=True):
        for folder in floor:
            rows.append(f"| {number} | `{folder.name}` | {folder.summary} |")
            if folder.name == "rlds_kit.tools":
                rows += [f"| | `{tool.name}` | {tool.summary} |" for row in floors("tools") for tool in row]
    return "\n".join(rows) + "\n"


def picture() -> str:
    """The floors as SVG: boxes that share a row import nothing of each other, and all rows below them."""
    rows = floors("floors")
    height = 2 * _MARGIN + len(rows) * (_HEIGHT + _GAP) - _GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="14" role="img">\n<title>Floors: each folder imports only what stands below it</title>\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>\n'
    )
    boxes = (box for number, row in enumerate(rows) for box in _boxes(row, _MARGIN + number * (_HEIGHT + _GAP)))
    return "".join([head, *boxes, "</svg>\n"])


def _boxes(row: list[Folder], top: int) -> Iterator[str]:
    width = (_WIDTH - 2 * _MARGIN - (len(row) - 1) * _GAP) / len(row)
    for number, folder in enumerate(row):
        left = _MARGIN + number * (width + _GAP)
        is_room = (ROOT / folder.name.removeprefix("rlds_kit.")).is_dir()
        yield (
            f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{_HEIGHT}" rx="4" '
            f'fill="{"#e3eefb" if is_room else "#eef2e6"}" stroke="#56616b"/>\n'
            f'<text x="{left + width / 2:.0f}" y="{top + 22}" text-anchor="middle">'
            f"{escape(folder.name.removeprefix('rlds_kit.'))}</text>\n"
        )


def page(text: str) -> str:
    """The page with the table of now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something would change")
    check = parser.parse_args().check
    for path, wanted in ((PAGE, page(PAGE.read_text("utf-8"))), (PICTURE, picture())):
        if not path.exists() or path.read_text("utf-8") != wanted:
            if check:
                sys.exit(f"{path.relative_to(ROOT)} is not what pyproject.toml says: python docs/floors.py")
            path.write_text(wanted, "utf-8")


if __name__ == "__main__":
    main()
