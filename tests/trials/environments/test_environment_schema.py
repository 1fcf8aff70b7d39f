"""The catalogue of environments, and the schemas that forms are made of."""

import contextlib
import json
import sys
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium
import pytest

from rlds_kit.trials.environments.catalogue import catalogue, registered
from rlds_kit.trials.environments.schema import RESERVED, kwargs_schema


class Base(gymnasium.Env[Any, Any]):
    """What others are made of."""

    def __init__(self, size: int = 3, *, render_mode: str | None = None) -> None:
        del size, render_mode


class Given(Base):
    """Passes on what it does not know."""

    def __init__(  # type: ignore[no-untyped-def]  # `untyped` is
        self,
        level: "Literal['easy', 'hard']",
        speed: float | None = None,
        names: Sequence[str] = ("a",),
        thing: Any = object(),  # noqa: B008  what JSON cannot hold
        untyped=2,  # noqa: ANN001  as in many environments
        **kwargs: Any,
    ) -> None:
        del level, speed, names, thing, untyped
        super().__init__(**kwargs)


def made_by_a_function(width: int, *args: int, depth: "NoSuchName" = 1.5, **more: Any) -> Base:  # type: ignore[name-defined]  # noqa: F821
    """Makes one."""
    del width, args, depth, more
    return Base()


gymnasium.register("rlds_kit_schema/Given-v0", f"{__name__}:Given", kwargs={"size": 9, "speed": 2.5})
gymnasium.register("rlds_kit_schema/Function-v0", f"{__name__}:made_by_a_function")
gymnasium.register("rlds_kit_schema/Nothing-v0", vector_entry_point=f"{__name__}:Base")


def test_r2_a_schema_has_what_signature_annotations_and_registration_say() -> None:
    """Those of base classes, too; what the studio sets itself is not there."""
    schema = kwargs_schema("rlds_kit_schema/Given-v0")
    assert schema["properties"] == {
        "level": {"enum": ["easy", "hard"]},
        "speed": {"default": 2.5, "anyOf": [{"type": "number"}, {"type": "null"}]},
        "names": {"default": ("a",), "type": "array"},
        "thing": {},
        "untyped": {"default": 2, "type": "integer"},
        "size": {"default": 9, "type": "integer"},
    }
    assert (schema["required"], schema["additionalProperties"]) == (["level"], False)


def test_r2_functions_that_take_anything_are_open() -> None:
    """Annotations that mean nothing here are passed over."""
    schema = kwargs_schema("rlds_kit_schema/Function-v0")
    assert schema["properties"] == {"width": {"type": "integer"}, "depth": {"default": 1.5, "type": "number"}}
    assert (schema["required"], schema["additionalProperties"]) == (["width"], True)


def test_what_cannot_be_made_alone_has_no_schema() -> None:
    with pytest.raises(gymnasium.error.Error, match="without an entry point"):
        kwargs_schema("rlds_kit_schema/Nothing-v0")


def test_r2_every_environment_here_has_a_schema_that_json_can_hold() -> None:
    """But for those whose libraries are not installed, which say so."""
    made = 0
    for name in catalogue():
        with contextlib.suppress(ImportError, gymnasium.error.Error):
            schema = kwargs_schema(name)
            json.dumps(schema, allow_nan=False)
            assert not RESERVED & schema["properties"].keys()
            made += 1
    assert made > 20


def test_modules_bring_environments_whose_module_is_known() -> None:
    """Asked again, the answer is the same, though the module is imported by now."""
    module = "tests.trials.environments.odd_environments"
    for _ in range(2):
        found = catalogue([module])
        assert found["CartPole-v1"] == ""
        assert found["rlds_kit_tests/Corridor-v0"] in {module, ""}  # "": another test has imported it before


def test_ids_with_a_module_are_registered_by_it() -> None:
    """As `gymnasium.make` does it."""
    name = registered("tests.studio.api.broken_environments:rlds_kit_tests/Broken-v0")
    assert name in gymnasium.registry
    assert "tests.studio.api.broken_environments" in sys.modules
    with pytest.raises(ImportError):
        registered("rlds_kit_tests_no_such_module:X-v0")
