"""What the command lines of benchmarks have in common."""

import argparse
import os
import sys
from pathlib import Path


def parser_of(about: str | None, workdir: str) -> argparse.ArgumentParser:
    """The parser of a benchmark, with the options --json, --page and --workdir.

    Args:
      about: the module's documentation, shown by --help.
      workdir: what is stored in that directory.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "rlds_kit-benchmarks"
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print every number of every round as JSON")
    parser.add_argument("--page", type=Path, help="also put the report into this page, such as docs/performance.md")
    parser.add_argument("--workdir", type=Path, default=cache, help=f"{workdir}; {cache}")
    return parser


def note(text: str) -> None:
    """Prints to standard error what is being done."""
    print(text, file=sys.stderr, flush=True)
