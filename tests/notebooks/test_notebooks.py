"""Notebooks run from top to bottom in clean kernels, draw their pictures, and are committed without outputs.

All of them together take two to two and a half minutes on a machine with two cores.
"""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import rlds_kit

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = ("atari", "performance", "pipelines", "publish", "tutorial")
DRAWS = re.compile(r"plt\.subplots\(|plot\.histograms\(|display\(Image\(")

nbformat = pytest.importorskip("nbformat", reason="needs the extra `dev-all`")
pytestmark = pytest.mark.skipif(not NOTEBOOKS.is_dir(), reason="a wheel holds no notebooks")


def _read(name: str) -> Any:  # a NotebookNode
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_notebook_is_tested() -> None:
    """The names above are those of the files."""
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_there_are_no_outputs(name: str) -> None:
    """Outputs and execution counts are not committed."""
    assert [cell.id for cell in _code(_read(name)) if cell.outputs or cell.execution_count is not None] == []


@pytest.mark.parametrize("name", NAMES)
def test_cells_have_names_for_ids(name: str) -> None:
    """A cell's id describes its content, so that it does not change when cells move, and the file is valid."""
    notebook = _read(name)
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert [each for each in ids if not re.fullmatch(r"[a-z]+(-[a-z]+)*", each)] == []
    assert len({*ids}) == len(ids)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")  # those of Jupyter; a notebook's own stay in its kernel
def test_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs in a new kernel of this interpreter, and every cell that draws shows an image."""
    for library in ("ale_py", "matplotlib", "huggingface_hub", "tensorflow_datasets"):
        pytest.importorskip(library, reason="needs the extras `atari`, `plot`, `publish` and `tfds`")
    monkeypatch.setenv("PYTHONPATH", str(Path(rlds_kit.__file__).parents[1]))
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "TFDS_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))  # nothing of the user's
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel has its own
    notebook = _read(name)
    (tmp_path / "here").mkdir()
    _execute(notebook, tmp_path / "here")
    drawing = [cell for cell in _code(notebook) if DRAWS.search(cell.source)]
    assert drawing
    assert [cell.id for cell in drawing if not _images(cell)] == []
    assert [*(tmp_path / "here").iterdir()] == []


def _execute(notebook: Any, directory: Path) -> None:
    """Runs all cells with this interpreter; no kernel is registered for that."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class ThisInterpreter(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name="Python", language="python")

    client = NotebookClient(
        notebook,
        kernel_manager_class=ThisInterpreter,
        resources={"metadata": {"path": str(directory)}},
        startup_timeout=300,
        timeout=None,
    )
    client.execute()  # raises what a cell raises


def _images(cell: Any) -> list[str]:
    """The images among the outputs of a cell."""
    return [output.data["image/png"] for output in cell.outputs if "image/png" in output.get("data", {})]
