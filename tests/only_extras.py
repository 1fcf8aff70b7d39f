"""What is installed beside an extra does not help its users: the code of a page runs with what the page names.

python -m tests.only_extras docs/loading.md     # in an empty folder
"""

import importlib.metadata
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement

from tests.optional import OURS

if TYPE_CHECKING:
    from _typeshed.importlib import MetaPathFinderProtocol

PROJECT: Final = "rlds-kit"
TOOLS: Final = ("pytest", "packaging")
"""What runs the code of a page."""


def normalized(name: str) -> str:
    """The name of a distribution as indexes compare it.

    >>> normalized("Ruamel.yaml_clib")
    'ruamel-yaml-clib'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def extras_of(text: str) -> set[str]:
    """The extras in the `pip install` commands of a page.

    >>> sorted(extras_of('pip install ".[tf,plot]" # and `pip install ".[atari]"`'))
    ['atari', 'plot', 'tf']
    """
    found = re.findall(r'pip\s+install\s+(?:-e\s+)?"\.\[([^\]]+)\]"', text)
    return {each.strip() for one in found for each in one.split(",")}


def installed_by_name(text: str) -> list[Requirement]:
    """What else a page has installed.

    >>> sorted(map(str, installed_by_name('pip install --no-deps one==2.2 && pip install two "three[four]"')))
    ['one==2.2', 'three[four]', 'two']
    """
    found = re.findall(r"pip\s+install\s+((?:--no-deps )?\"?[a-z][^`&\n#]*)", text)
    return [Requirement(each.strip('"')) for one in found for each in one.split() if not each.startswith("-")]


def required(requirements: Iterable[Requirement]) -> set[str]:
    """The names of all distributions that these requirements install."""
    waiting = [(normalized(each.name), frozenset(each.extras)) for each in requirements]
    seen = set(waiting)
    while waiting:
        for one in _requirements(*waiting.pop()):
            following = (normalized(one.name), frozenset(one.extras))
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return {name for name, _ in seen}


def _requirements(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    try:
        lines = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:  # it is for other systems
        return
    for each in map(Requirement, lines):
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            yield each


class OnlyThese(MetaPathFinder):
    """Finds modules as others do, but none of a distribution that is not among the given ones."""

    def __init__(self, distributions: set[str], finders: Sequence["MetaPathFinderProtocol"]) -> None:
        self._distributions, self._finders = distributions, finders
        self._owners = importlib.metadata.packages_distributions()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """None for what is hidden, as if it were not installed."""
        top = fullname.partition(".")[0]
        owners = {normalized(each) for each in self._owners.get(top, ())}
        if owners and top not in OURS and not owners & self._distributions:
            return None
        found = (each.find_spec(fullname, path, target) for each in self._finders)
        return next((each for each in found if each is not None), None)

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[importlib.metadata.Distribution]:
        """The metadata of what is not hidden."""
        for finder in self._finders:
            if hasattr(finder, "find_distributions"):
                found = finder.find_distributions(context)
                yield from (each for each in found if normalized(each.metadata["Name"]) in self._distributions)


def main(page: Path) -> None:
    """Runs a page."""
    text = page.read_text("utf-8")
    ours = Requirement(f"{PROJECT}[{','.join(sorted(extras_of(text)))}]")
    allowed = required([ours, *map(Requirement, TOOLS), *installed_by_name(text)])
    sys.meta_path[:] = [OnlyThese(allowed, list(sys.meta_path))]
    from tests import test_docs

    test_docs.run_page(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
