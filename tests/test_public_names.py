"""What the docs and the examples import is public: a name in the `__all__` of the module that it is imported from."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
PAGES = sorted([*CHECKOUT.glob("README.md"), *CHECKOUT.glob("docs/*.md"), *CHECKOUT.glob("examples/*.py")])

pytestmark = pytest.mark.skipif(not PAGES, reason="a wheel holds neither docs nor examples")


def _imported(page: Path) -> Iterator[tuple[str, str]]:
    """Module and name of each import of ours."""
    text = page.read_text("utf-8")
    for code in (
        [text] if page.suffix == ".py" else re.findall(r"^```py\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "rlds_kit":
                yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_imports_are_public(page: Path) -> None:
    """A module is public if it lists its own public names."""
    private = []
    for module, name in sorted(set(_imported(page))):
        found = importlib.import_module(module)
        if name not in getattr(found, "__all__", ()):
            try:
                is_public = hasattr(importlib.import_module(f"{module}.{name}"), "__all__")
            except ModuleNotFoundError:
                is_public = False
            if not is_public:
                private.append(f"from {module} import {name}")
    assert private == []
