"""`rlds_kit.compat.rlds` has every public name of rlds 0.1.8, which is installed beside it, and loads nothing early."""

import ast
import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rlds_kit

MODULES = (
    *("", ".metadata", ".rlds_types", ".tfds", ".tfds.config_generator", ".tfds.episode_writer", ".transformations"),
    *(
        f".transformations.{name}"
        for name in (
            *("alignment", "dataset_concat", "dataset_stats", "dataset_truncate", "flexible_batch", "nested_ops"),
            *("pattern", "shape_ops"),
        )
    ),
)
INTERNAL = {"DEFAULT_BATCH_SIZE_IN_BYTES", "get_batch_size", "size_from_spec"}
"""Names without an underscore that rlds exports nowhere and uses itself."""


def public_names(module: str) -> set[str]:
    """What a module of the installed rlds imports from itself, or defines. rlds cannot be imported: it needs Reverb."""
    spec = importlib.util.find_spec("rlds")
    if spec is None or spec.origin is None:
        pytest.skip("rlds is not installed")
    base = Path(spec.origin).parent.joinpath(*module.split(".")[1:])
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    names: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and path.name == "__init__.py" and (node.module or "").startswith("rlds"):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")} - INTERNAL


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_there(module: str) -> None:
    """Constants, types, functions and modules, under the same path."""
    wanted = public_names(module)
    assert wanted or module == ".tfds"
    found = importlib.import_module(f"rlds_kit.compat.rlds{module}")
    assert {name for name in wanted if not hasattr(found, name)} == set()


@pytest.mark.thorough
def test_importing_it_loads_no_tensorflow() -> None:
    """Constants and types need nothing; an attribute that is not there is an AttributeError as everywhere."""
    code = (
        "import sys\nfrom rlds_kit.compat import envlogger, rlds\n"
        "assert rlds.STEPS == 'steps' and rlds.metadata.EPISODE_ID == 'episode_id'\n"
        "assert not hasattr(rlds, 'nothing')\n"
        "print('tensorflow' in sys.modules)\nrlds.transformations.batch\nprint('tensorflow' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(rlds_kit.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_what_belongs_to_a_replay_buffer_says_what_to_use() -> None:
    """As does what EnvLogger has and this has not."""
    from rlds_kit.compat import envlogger, reverb

    with pytest.raises(AttributeError, match=r"no replay buffer here.*pattern_map"):
        _ = reverb.Server
    with pytest.raises(AttributeError, match=r"no attribute 'testing'; there are BackendType, "):
        _ = envlogger.testing
