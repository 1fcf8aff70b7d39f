"""What core operations cost has not grown: calls, system calls, bytes read and written, memory."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.costs import BEGIN, END, IO, PAGE, Cost, parsed

MORE: Final = 1.25
MORE_OF_THREADS: Final = 2.5
"""How much more is allowed of memory, which depends on the timing of threads."""


@pytest.mark.skipif(not IO.exists(), reason="Linux counts system calls and bytes in /proc/self/io")
@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="the table was made with Python 3.11; others make other calls"
)
@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer makes calls of its own")
def test_no_operation_costs_more_than_the_page_states() -> None:
    """`python -m tests.costs --update` writes the table again after a change for the better, or one with a reason."""
    page = PAGE.read_text(encoding="utf-8")
    stated = parsed(page.partition(BEGIN)[2].partition(END)[0])
    command = [sys.executable, "-m", "tests.costs"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    found = parsed(done.stdout)
    assert stated.keys() == found.keys()
    assert len(found) == 11
    grown = []
    for name, cost in found.items():
        for field in dataclasses.fields(Cost):
            now, before = (float(getattr(each, field.name)) for each in (cost, stated[name]))
            if now > before * (MORE_OF_THREADS if field.name == "peak_bytes" else MORE):
                grown.append(f"{name}: {field.name} {now:g}, stated {before:g}")
    assert not grown, "; ".join(grown)
