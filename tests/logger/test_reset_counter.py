"""Resets and steps are counted for environments that step together as for single ones."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.logger.reset_counter import ResetCounter, ResetCounters

LANES = 3
deeds = st.lists(
    st.one_of(
        st.tuples(st.just("reset"), st.integers(0, LANES - 1), st.sampled_from((None, 4, 5))),
        st.tuples(st.just("step"), st.lists(st.booleans(), min_size=LANES, max_size=LANES), st.none()),
        st.tuples(st.just("ask"), st.integers(0, LANES - 1), st.none()),
    )
)


def _chain(counter: ResetCounter) -> Any:
    found = counter.provenance()
    return {key: item for key, item in found["reset_chain"].items() if key != "instance"} if found else None


@given(deeds=deeds)
def test_each_has_its_own_counts(deeds: list[tuple[str, Any, Any]]) -> None:
    """After any resets and steps, however often the counts are read in between."""
    together, single = ResetCounters(LANES), [ResetCounter() for _ in range(LANES)]
    for deed, what, seed in deeds:
        match deed:
            case "reset":
                together.reset(what, seed)
                single[what].reset(seed)
            case "step":
                together.step(but=[lane for lane, is_stepped in enumerate(what) if not is_stepped])
                for counter, steps in zip(single, what, strict=True):
                    if steps:
                        counter.step()
            case "ask":
                together.provenance(what)
    for lane, counter in enumerate(single):
        found = together.provenance(lane)
        chain = {key: item for key, item in found["reset_chain"].items() if key != "instance"} if found else None
        assert chain == _chain(counter)
