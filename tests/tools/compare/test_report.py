"""Where differences are."""

import pytest

from rlds_kit.tools.compare.report import Divergence


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ((None, None, None), "dataset"),
        ((3, 3, None), "episode 3"),
        ((3, 4, None), "episodes 3 and 4"),
        ((0, 0, 0), "episode 0, step 0"),
    ],
)
def test_place(where: tuple[int | None, int | None, int | None], place: str) -> None:
    """Names the episode in both datasets and the step, as far as there is one."""
    assert Divergence("reward", "value", "0.0", "1.0", *where).place == place
