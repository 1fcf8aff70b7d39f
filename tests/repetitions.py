"""How often a sweep repeats what it does: a part of it in `make test`, and all of it in `make test-all`."""

from typing import Final

from hypothesis import settings

PART: Final = 6
"""`make test` does one in so many repetitions."""


def is_thorough() -> bool:
    """Whether the Hypothesis profile is that of complete runs."""
    return settings.get_current_profile_name() in {"thorough", "explore"}


def repetitions(number: int, least: int = 1) -> int:
    """Return how often to repeat what the whole sweep repeats `number` times."""
    return number if is_thorough() else max(least, number // PART)
