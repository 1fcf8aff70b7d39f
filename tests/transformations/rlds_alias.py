"""The modules of the `rlds` distribution under their own names, made of ours, for its test files to import."""

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import tensorflow as tf

from rlds_kit import transformations
from rlds_kit.base import rlds_types
from rlds_kit.transformations.auto_batch import auto_batch_size, element_bytes

# The modules in which the original defines its public names.
PUBLIC = {
    "alignment": ["AlignmentType", "add_alignment_to_step", "shift_keys"],
    "dataset_concat": ["concat_if_terminal", "concatenate"],
    "dataset_stats": ["mean_and_std", "sar_fields_mask"],
    "dataset_truncate": ["truncate_after_condition"],
    "flexible_batch": ["BATCH_AUTO_TUNE", "batch"],
    "nested_ops": [
        *("apply_nested_steps", "episode_length", "final_step", "map_nested_steps", "map_steps", "sum_dataset"),
        "sum_nested_steps",
    ],
    "pattern": ["pattern_map", "pattern_map_from_transform", "step_spec"],
    "shape_ops": ["uniform_from_spec", "zero_dataset_like", "zeros_from_spec"],
}
_TESTLIB = "rlds.transformations.transformations_testlib"
REVERB = ["Condition", "create_config", "create_reference_step", "pattern_from_transform"]


def batched_map(
    steps: tf.data.Dataset, map_fn: Callable[[Any], Any], size: int = -1, shift: int | None = None, stride: int = 1
) -> tf.data.Dataset:
    """The original's helper behind `shift_keys`."""
    return transformations.batch(steps, size, shift, stride).map(map_fn).unbatch()


def map_episode(episode: rlds_types.Episode, transform_step: Callable[[Any], Any], in_place: bool) -> Any:
    """The original's helper behind `map_nested_steps`. Ours never works in place; its test wants that too."""
    mapped = {**episode, "steps": transformations.map_steps(episode["steps"], transform_step)}
    if in_place:
        episode.update(mapped)
    return mapped


def get_batch_size(dataset: tf.data.Dataset, optimization_batch_size: int = -1) -> int:
    """The original's helper that chooses a batch size."""
    return auto_batch_size(dataset.element_spec, optimization_batch_size)


# What the tests of the original call although it is no part of its API.
INTERNAL: Mapping[str, Mapping[str, Any]] = {
    "batched_helpers": {"batched_map": batched_map},
    "flexible_batch": {"get_batch_size": get_batch_size},
    "nested_ops": {"_map_episode": map_episode},
    "shape_ops": {"size_from_spec": element_bytes},
}


def _module(name: str, content: Mapping[str, Any]) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(content)
    return module


def _alias_modules() -> dict[str, ModuleType]:
    names = sorted(PUBLIC.keys() | INTERNAL.keys())
    parts = {
        name: _module(
            f"rlds.transformations.{name}",
            {**{public: getattr(transformations, public) for public in PUBLIC.get(name, ())}, **INTERNAL.get(name, {})},
        )
        for name in names
    }
    public = {name: getattr(transformations, name) for names in PUBLIC.values() for name in names}
    ours = {name: getattr(rlds_types, name) for name in rlds_types.__all__}
    top = {"transformations": _module("rlds.transformations", public | parts), "rlds_types": rlds_types}
    writer = _module("reverb.structured_writer", {name: getattr(transformations, name) for name in REVERB})
    return {
        "rlds": _module("rlds", ours | top),
        "rlds.rlds_types": rlds_types,
        "rlds.transformations": top["transformations"],
        **{f"rlds.transformations.{name}": module for name, module in parts.items()},
        "reverb": _module("reverb", {"structured_writer": writer}),
        "reverb.structured_writer": writer,
    }


@contextlib.contextmanager
def aliased(testlib: Path) -> Iterator[None]:
    """While it lasts, `rlds` and `reverb` are ours; then they are again what they were.

    Args:
      testlib: the original's `transformations_testlib.py`, which its tests derive from.
    """
    aliases = _alias_modules()
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("rlds", "reverb")}
    try:
        sys.modules.update(aliases)
        library = load(_TESTLIB, testlib)
        sys.modules[_TESTLIB] = library
        vars(aliases["rlds.transformations"])["transformations_testlib"] = library
        yield
    finally:
        for name in [*aliases, _TESTLIB]:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def load(name: str, path: Path) -> ModuleType:
    """Executes a file as a module of a name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
