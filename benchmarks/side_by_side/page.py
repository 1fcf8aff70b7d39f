"""Puts a report into a page, between two marks."""

from pathlib import Path


def insert(report: str, page: Path, begin: str, end: str) -> None:
    """Replaces what stands between the marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    page.write_text(f"{before}{begin}\n\n{report}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")
