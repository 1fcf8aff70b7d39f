"""The spec of a dataset after losses."""

from collections.abc import Collection

from rlds_kit import spec as specs


def spec_without(spec: specs.Dict, lost: Collection[str]) -> specs.Dict:
    """A spec without some of its leaves, and without nests that become empty.

    Args:
      spec: of a dataset.
      lost: leaves, as names and numbers joined by slashes.

    >>> names = specs.Dict({"info": specs.Dict({"a": specs.Text()}), "action": specs.Text()})
    >>> list(spec_without(names, {"info/a"}).fields)
    ['action']
    """
    return specs.Dict({name: left for name, each in spec.fields.items() if (left := _left(each, name, lost))})


def _left(spec: specs.Spec, path: str, lost: Collection[str]) -> specs.Spec | None:
    """None if nothing remains. Later items of a tuple move up, as in a value."""
    match spec:
        case specs.Dict() if spec.fields:
            fields = {name: left for name, each in spec.fields.items() if (left := _left(each, f"{path}/{name}", lost))}
            return specs.Dict(fields) if fields else None
        case specs.Tuple() if spec.items:
            items = [left for number, each in enumerate(spec.items) if (left := _left(each, f"{path}/{number}", lost))]
            return specs.Tuple(tuple(items)) if items else None
        case _:
            return None if path in lost else spec
