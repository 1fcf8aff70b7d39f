"""The layout of the repository: rooms and their links, the libraries of each, and what a bare import must not load.

All but the checks of the checkout itself also apply to an installed wheel.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlds_kit

PACKAGE = Path(rlds_kit.__file__).parent
CHECKOUT = PACKAGE.parent
IN_CHECKOUT = (CHECKOUT / "setup.py").exists()

ROOMS = {
    "cli",
    "compat",
    "convert",
    "crowd",
    "lint",
    "logger",
    "shaping",
    "studio",
    "tfds_builders",
    "transformations",
    "trials",
}

# What may be imported at the top of a module. Every other library is optional and is imported where it is used.
CORE_LIBRARIES = {"click", "dm_env", "fsspec", "google", "gymnasium", "numpy", "rich", "xxhash", "zstandard"}
ROOM_LIBRARIES = {
    "studio": {"PIL", "alembic", "itsdangerous", "pydantic", "sqlalchemy", "starlette", "uvicorn"},
    "transformations": {"tensorflow"},
    "tfds_builders": {"tensorflow", "tensorflow_datasets"},
}
# Modules that are loaded only where they are used may have a library of their own, whose classes they derive from.
_CLIENT = (("client", "httpx"), ("actor_service", "websockets"), ("seat", "websockets"))
MODULE_LIBRARIES = {
    "rlds_kit.crowd.space_invaders.cooperative": {"pettingzoo"},
    **{f"rlds_kit.logger.{name}": {"pettingzoo"} for name in ("aec_logger", "parallel_logger", "pettingzoo_logger")},
    **{f"rlds_kit.trials.client.{name}": {library} for name, library in _CLIENT},
    "rlds_kit.shaping.tasks.given": {"pydantic"},
    **{f"rlds_kit.shaping.tasks.{name}": {"starlette"} for name in ("host", "judge", "live", "train")},
    "rlds_kit.trials.directory.service_actor": {"websockets"},
    **{f"rlds_kit.trials.wire.{name}": {"pydantic", "pydantic_core"} for name in ("messages", "reading", "requests")},
    "rlds_kit.trials.service.api": {"starlette"},
    "rlds_kit.trials.service.application": {"starlette"},
    "rlds_kit.trials.service.metrics": {"prometheus_client"},
    "rlds_kit.trials.service.serving": {"uvicorn"},
    "rlds_kit.trials.service.socket": {"starlette"},
}

# The only modules of the core that may import a framework, and those inside functions: leaves of `loader`.
FRAMEWORKS = {"grain", "jax", "tensorflow", "tensorflow_datasets", "torch"}
FRAMEWORK_MODULES = {"rlds_kit.loader.forms", "rlds_kit.loader.grain", "rlds_kit.loader.tf", "rlds_kit.loader.torch"}

# What `import rlds_kit` must not load: frameworks, simulators, servers, and the libraries of the extras.
NOT_LOADED = FRAMEWORKS | {
    *("ale_py", "array_record", "av", "brotli", "cramjam", "h5py", "matplotlib", "ml_dtypes", "pyarrow", "snappy"),
    *("aiohttp", "pettingzoo", "pygame", "starlette", "uvicorn"),
}


def _find_modules() -> dict[str, Path]:
    """Return the name and file of every module, rooms included: sources, and stubs where the code is compiled."""
    modules: dict[str, Path] = {}
    for folder, _, files in os.walk(PACKAGE, followlinks=True):
        for file in sorted(files):
            path = Path(folder, file)
            if path.suffix in {".py", ".pyi"}:
                parts = ("rlds_kit", *path.relative_to(PACKAGE).with_suffix("").parts)
                modules.setdefault(".".join(parts).removesuffix(".__init__"), path)
    return modules


MODULES = _find_modules()


def _room_of(module: str) -> str:
    """Return the room that a module of the project lives in."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else "core"


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _walk(node: ast.AST, *, functions: bool, typing: bool) -> Iterator[ast.AST]:
    """Yield the nodes below `node`, those in functions and in TYPE_CHECKING blocks only on request."""
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if (functions or not is_function) and (typing or not _is_type_checking(child)):
            yield child
            yield from _walk(child, functions=functions, typing=typing)


def _imports(module: str, *, functions: bool = False, typing: bool = True) -> set[str]:
    """Return the modules that `module` names in import statements."""
    path = MODULES[module]
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in _walk(ast.parse(path.read_bytes()), functions=functions, typing=typing):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                found.add(name if name in MODULES else base)
    return found


def test_modules_of_core_and_rooms_are_found() -> None:
    """The checks below look at something."""
    assert {"rlds_kit", "rlds_kit._version", "rlds_kit.logger"} <= MODULES.keys()


@pytest.mark.skipif(not IN_CHECKOUT, reason="a wheel holds no links")
def test_rooms_and_links_agree() -> None:
    """Every room of the checkout has its link, and every link in the package is a room's."""
    rooms = {room for room in ROOMS if (CHECKOUT / room / "__init__.py").exists()}
    links = {path.name for path in PACKAGE.iterdir() if path.is_symlink()}
    assert links == rooms


@pytest.mark.skipif(not IN_CHECKOUT, reason="a wheel holds no links")
@pytest.mark.parametrize("name", sorted(ROOMS))
def test_link_is_relative_and_resolves_to_the_room(name: str) -> None:
    """`rlds_kit/<room>` is the relative link `../<room>` and shows the room's own folder."""
    link = PACKAGE / name
    assert link.is_symlink()
    assert link.readlink() == Path("..", name)
    assert link.resolve() == (CHECKOUT / name).resolve()


def test_module_level_imports_are_dependencies() -> None:
    """At the top of a module stand the standard library and what every installation of it has, nothing optional."""
    always = sys.stdlib_module_names | CORE_LIBRARIES | {"rlds_kit"}
    for module in MODULES:
        allowed = always | ROOM_LIBRARIES.get(_room_of(module), set()) | MODULE_LIBRARIES.get(module, set())
        assert {name.split(".")[0] for name in _imports(module, typing=False)} <= allowed, module


def test_core_touches_frameworks_only_where_listed() -> None:
    """TensorFlow and its like appear in the listed modules of `loader` and nowhere else in the core."""
    for module in MODULES.keys() - FRAMEWORK_MODULES:
        if _room_of(module) in {"core", "cli", "convert", "lint"}:
            assert not {name.split(".")[0] for name in _imports(module, functions=True)} & FRAMEWORKS, module


def test_framework_modules_belong_to_the_loader() -> None:
    """The list of exceptions stays where exceptions belong, and names modules that exist."""
    assert all(module.startswith(("rlds_kit.loader.", "rlds_kit.convert.")) for module in FRAMEWORK_MODULES)
    assert MODULES.keys() >= FRAMEWORK_MODULES


@pytest.mark.parametrize("module", ["rlds_kit", "rlds_kit.logger"])
def test_bare_import_loads_nothing_heavy(module: str) -> None:
    """A new interpreter that imports the core or the logger has loaded no framework, server, simulator or extra."""
    code = f"import sys, {module}; print(*sys.modules.keys() & {sorted(NOT_LOADED)})"
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr, done.returncode) == ([], "", 0)


def _checkout_files() -> Iterator[Path]:
    """Yield the files of the checkout, without those that git, the verbs and the tools made."""
    made = re.compile(r"\.git|\.venv|\.hypothesis|__pycache__|build|dist|.*_cache|.*\.egg-info")
    for folder, folders, files in os.walk(CHECKOUT):
        folders[:] = [name for name in folders if not made.fullmatch(name)]
        yield from (Path(folder, name) for name in files)


@pytest.mark.skipif(not IN_CHECKOUT, reason="looks at the files of the checkout")
def test_nothing_imports_a_room_by_its_bare_name() -> None:
    """Code, notebooks and pages import `rlds_kit.<room>`: the bare name would make a second copy of its classes."""
    rooms = "|".join(sorted(ROOMS))
    bare = re.compile(
        rf'^[\s">]*(import ({rooms})(\.\w+)*\s*($|,|;|#|\\n|as\s)|from ({rooms})(\.\w+)*\s+import\s)', re.MULTILINE
    )
    found = []
    for path in _checkout_files():
        content = path.read_bytes()
        if b"\0" not in content and (match := bare.search(content.decode("utf-8", errors="replace"))):
            found.append(f"{path.relative_to(CHECKOUT)}: {match[0].strip()}")
    assert found == []
