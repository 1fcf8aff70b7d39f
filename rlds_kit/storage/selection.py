"""Selects fields, and parts of fields, of a spec."""

from collections.abc import Iterable

from rlds_kit import spec as specs
from rlds_kit.storage import leaf as leaves


def path_of(spec: specs.Dict, name: str) -> str:
    """The path of a field or of a part of one: a name with a slash leads into a nest, unless a field has this name.

    Raises:
      KeyError: there is nothing at the path.

    >>> path_of(specs.Dict({"a/b": specs.Text(), "a": specs.Dict({"c": specs.Text()})}), "a/c")
    'a/c'
    """
    path = leaves.escape(name) if name in spec.fields else name
    here: specs.Spec = spec
    for element in leaves.elements(path):
        if isinstance(here, specs.Array | specs.Text | specs.Bytes):  # not a container
            raise KeyError(f"there is no field {name!r}; there are {', '.join(sorted(spec.fields))}")
        if not isinstance(here, specs.Dict):
            break  # the content is not known in advance
        if leaves.unescape(element) not in here.fields:
            raise KeyError(f"there is no field {name!r}; there are {', '.join(sorted(here.fields))}")
        here = here.fields[leaves.unescape(element)]
    return path


def selected(spec: specs.Dict, names: Iterable[str]) -> specs.Dict:
    """The part of a spec with these names, which may be paths into nests.

    Raises:
      KeyError: there is nothing at one of the paths.

    >>> spec = specs.Dict({"a": specs.Dict({"b": specs.Text(), "c": specs.Text()}), "d": specs.Bytes()})
    >>> selected(spec, ["a/c"])
    Dict({'a': Dict({'c': Text()})})
    """
    return _selected(spec, [leaves.elements(path_of(spec, name)) for name in names])


def _selected(spec: specs.Dict, paths: list[list[str]]) -> specs.Dict:
    found: dict[str, specs.Spec] = {}
    for element in dict.fromkeys(path[0] for path in paths):
        key, below = leaves.unescape(element), [path[1:] for path in paths if path[0] == element]
        part = spec.fields[key]
        found[key] = _selected(part, below) if isinstance(part, specs.Dict) and all(below) else part
    return specs.Dict(found)
