"""What the pages, the examples and the notebooks use is public: a name in the `__all__` of a package."""

import ast
import importlib
import importlib.util
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

CHECKOUT = Path(__file__).parent.parent
PAGES = sorted(
    [
        *CHECKOUT.glob("README.md"),
        *CHECKOUT.glob("docs/**/*.md"),
        *CHECKOUT.glob("examples/*.py"),
        *CHECKOUT.glob("notebooks/*.ipynb"),
        *CHECKOUT.glob("notebooks/*.md"),
    ]
)
ROOT = "rlds_kit"
NEED_TENSORFLOW = re.compile(
    r"rlds_kit\.(tfds_builders|transformations|compat$|compat\.rlds\.(tfds|transformations)|.*backends$)"
)

FLOOR = {
    "rlds_kit": """
        DamageWarning DamagedError Dataset DatasetExistsError Episode EpisodeEnd FormatError NotADatasetError
        RecordingError RldsKitError SpecError UnsupportedTypeError __version__ mix open
    """,
    "rlds_kit.logger": """
        BernoulliEpisodeScheduler BernoulliStepScheduler EnvLogger EpisodeEnd EpisodeScheduler EpisodeWriter FlushPolicy
        GymnasiumLogger GymnasiumTimeStep ListEpisodeScheduler ListStepScheduler NEpisodeScheduler NStepScheduler
        OpenEpisode StepData TimeScheduler VectorLogger
    """,
    "rlds_kit.tfds_builders": """
        DatasetSource DirectoryBuilder DirectoryConfig EnvLoggerSource EpisodeSource EpisodeWriter EpisodesBuilder
        EpisodesConfig ProofError SourceEpisode builder_from_directory episode_features extract_feature_from_data
        generate_config_from_spec spec_of
    """,
    "rlds_kit.transformations": """
        BATCH_AUTO_TUNE AlignmentType Condition EpisodeStatistics FieldStatistics PatternConfig PatternNode
        add_absorbing_states add_alignment_to_step apply_nested_steps atari_preprocessing batch chunks
        concat_if_terminal concatenate create_config create_reference_step denormalize denormalize_from_bounds
        downsample episode_length episode_statistics final_step first_action frame_stack from_dense interleave
        map_nested_steps map_steps mean_and_std normalize normalize_to_bounds only_action pad_episodes
        pattern_from_transform pattern_map pattern_map_from_transform relabel returns returns_to_go sar_fields_mask
        shift_keys split step_spec sum_dataset sum_nested_steps to_alignment to_dense transitions truncate
        truncate_after_condition uniform_from_spec windows zero_dataset_like zeros_from_spec
    """,
}
"""Names that users rely on. More may come; none of these may go."""


def _code(page: Path) -> Iterator[str]:
    """The Python code of a page, an example or a notebook: blocks, cells, and import statements inside a line."""
    text = page.read_text("utf-8")
    if page.suffix == ".py":
        yield text
        return
    texts = [text]
    if page.suffix == ".ipynb":
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
        yield from (re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE) for source in _python_cells(cells))
        texts = [source for kind, source in cells if kind == "markdown"]
    for each in texts:
        yield from re.findall(r"^```py\w*\n(.*?)^```$", each, re.MULTILINE | re.DOTALL)
        yield from re.findall(rf"`((?:from|import) {ROOT}\b[^`\n]*)`", each)


def _python_cells(cells: list[tuple[str, str]]) -> Iterator[str]:
    """The cells of code in Python, not in another language such as `%%bash`."""
    yield from (source for kind, source in cells if kind == "code" and not re.match(r"%%(?!time)", source))


def _is_package(name: str) -> bool:
    """Whether a name is that of a package of ours, whose public names are in `__all__`."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return False
    return spec is not None and spec.submodule_search_locations is not None and hasattr(_load(name), "__all__")


def _load(name: str) -> ModuleType:
    if NEED_TENSORFLOW.match(name):
        pytest.importorskip("tensorflow_datasets")
    return importlib.import_module(name)


def _is_public(package: str, name: str) -> bool:
    """Whether a package lists a name, or has a package of that name."""
    return _is_package(f"{package}.{name}") or (_is_package(package) and name in _load(package).__all__)


def _private_imports(tree: ast.Module, names: dict[str, str]) -> Iterator[str]:
    """Imports of what is not public; notes in `names` what stands for which package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == ROOT:
            for alias in node.names:
                if not _is_public(str(node.module), alias.name):
                    yield f"from {node.module} import {alias.name}"
                elif _is_package(f"{node.module}.{alias.name}"):
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == ROOT:
                    if not _is_package(alias.name):
                        yield f"import {alias.name}"
                    names[alias.asname or ROOT] = alias.name if alias.asname else ROOT


def _private_attributes(tree: ast.Module, names: dict[str, str]) -> Iterator[str]:
    """What is taken from a package by a dot, and is not public."""
    for node in ast.walk(tree):
        package = _package_of(node.value, names) if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Attribute) and package is not None and not _is_public(package, node.attr):
            yield f"{package}.{node.attr}"


def _package_of(node: ast.expr, names: dict[str, str]) -> str | None:
    """The package of ours that an expression stands for."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and (package := _package_of(node.value, names)) is not None:
        name = f"{package}.{node.attr}"
        return name if _is_package(name) else None
    return None


@pytest.mark.skipif(not PAGES, reason="a wheel holds neither docs nor examples")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_pages_use_public_names(page: Path) -> None:
    """Every import from the project, and every name that is taken from one of its packages, is in an `__all__`."""
    names: dict[str, str] = {}
    trees = [ast.parse(code) for code in _code(page)]
    private = [each for tree in trees for each in _private_imports(tree, names)]
    private += [each for tree in trees for each in _private_attributes(tree, names)]
    assert sorted(set(private)) == []


def test_a_module_does_not_make_a_name_public() -> None:
    """A list in a module that is no package does not count, nor does a name that a package has and does not list."""
    names: dict[str, str] = {}
    tree = ast.parse("import rlds_kit\nfrom rlds_kit.base.rlds_types import STEPS\nrlds_kit.episode.episode.Episode")
    assert list(_private_imports(tree, names)) == ["from rlds_kit.base.rlds_types import STEPS"]
    assert list(_private_attributes(tree, names)) == ["rlds_kit.episode.episode"]


@pytest.mark.parametrize("package", sorted(FLOOR))
def test_no_public_name_has_gone(package: str) -> None:
    """Names that were public still are."""
    assert set(FLOOR[package].split()) - set(getattr(_load(package), "__all__", ())) == set()


def _packages() -> list[str]:
    """Every package of the project that lists public names."""
    root = Path(str(importlib.import_module(ROOT).__file__)).parent
    return [
        ".".join((ROOT, *Path(folder).relative_to(root).parts))
        for folder, _, files in os.walk(root, followlinks=True)
        if "__init__.py" in files and "__all__" in Path(folder, "__init__.py").read_text("utf-8")
    ]


@pytest.mark.parametrize("package", sorted(_packages()))
def test_listed_names_exist(package: str) -> None:
    """What a package lists can be imported from it, also where its module is loaded when a name is first used."""
    found = _load(package)
    assert [name for name in found.__all__ if not hasattr(found, name)] == []
