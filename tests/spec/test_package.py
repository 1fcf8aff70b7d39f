"""What the package offers, and what importing it loads."""

import subprocess
import sys

from rlds_kit import spec as specs
from rlds_kit.spec import from_data, validate


def test_public_names() -> None:
    """The list of names is the contract."""
    kinds = "Any Array Bytes Dict Graph List NONE OneOf Optional Sequence Spec Text Tuple"
    functions = (
        "compatible describe_spec describe_value from_json from_message infer merge out_of_bounds problems require "
        "stacked to_json to_message zeros"
    )
    assert sorted(specs.__all__) == sorted([*kinds.split(), "Problem", "ProblemKind", *functions.split()])


def test_questions_and_data_are_found_by_their_modules() -> None:
    """The modules that people look for have what they look for."""
    assert [name for name in validate.__all__ if not hasattr(validate, name)] == []
    assert (validate.compatible, from_data.merge) == (specs.compatible, specs.merge)


def test_the_import_is_light() -> None:
    """Neither Gymnasium nor dm_env is loaded until its module is imported."""
    program = (
        "import sys, types; package = types.ModuleType('rlds_kit'); "
        f"package.__path__ = [{str(specs.__path__[0])!r} + '/..']; sys.modules['rlds_kit'] = package; "
        "import rlds_kit.spec; print(sorted({'gymnasium', 'dm_env', 'tensorflow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
