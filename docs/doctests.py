"""Shows the doctests of docstrings as code: in Markdown, `>>>` begins a quotation."""

import re
from typing import Any, Final

import griffe

DOCTEST: Final = re.compile(r"(?m)^(?P<indent> *)>>> .*\n?(?:^(?P=indent)(?! *$).*\n?)*")


def fenced(text: str) -> str:
    """A docstring with a fence around each doctest.

    >>> print(fenced("Adds.").strip())
    Adds.
    """

    def replaced(found: re.Match[str]) -> str:
        indent = found["indent"]
        return f"{indent}```pycon\n{found[0].rstrip()}\n{indent}```\n"

    return DOCTEST.sub(replaced, text)


class Doctests(griffe.Extension):
    """Fences the doctests of every docstring when it is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Replaces the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
