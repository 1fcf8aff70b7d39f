"""Resets and steps are counted for each environment by itself, since its last seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.logger.reset_counter import ResetCounters

LANES = 3
flags = st.lists(st.booleans(), min_size=LANES, max_size=LANES)
deeds = st.lists(
    st.one_of(
        st.tuples(st.just("reset"), st.integers(0, LANES - 1), st.sampled_from((None, 0, 4, 5))),
        st.tuples(st.just("step"), st.none(), st.none()),
        st.tuples(st.sampled_from(("step or reset", "resets")), flags, st.none()),
        st.tuples(st.just("look"), st.integers(0, LANES - 1), st.none()),
    )
)


@dataclass
class _Counted:
    """One environment."""

    seed: Any = None
    all_resets: int = 0
    seeded_reset: int = 0
    resets: int = 0
    steps: int = 0

    def chain(self) -> dict[str, Any]:
        """Its reset chain, but for the instance; empty before a seed."""
        if self.seed is None:
            return {}
        return {"seeded_reset": self.seeded_reset, "seed": self.seed, "resets": self.resets, "steps": self.steps}


@given(deeds=deeds)
def test_each_has_its_own_counts(deeds: list[tuple[str, Any, Any]]) -> None:
    """After any resets and steps, however often the counts are read in between."""
    counters, counted = ResetCounters(LANES), [_Counted() for _ in range(LANES)]
    for deed, what, seed in deeds:
        match deed:
            case "reset":
                counters.reset(what, seed)
                one = counted[what]
                one.all_resets += 1
                one.resets += 1
                if seed is not None:
                    one.seed, one.seeded_reset, one.resets, one.steps = seed, one.all_resets, 0, 0
            case "step":
                counters.step()
                for one in counted:
                    one.steps += 1
            case "step or reset":
                counters.step_or_reset(np.array(what))
                for one, is_reset in zip(counted, what, strict=True):
                    one.steps += not is_reset
                    one.resets += is_reset
                    one.all_resets += is_reset
            case "resets":
                counters.reset_without_seed(np.array(what))
                for one, is_reset in zip(counted, what, strict=True):
                    one.resets += is_reset
                    one.all_resets += is_reset
            case "look":
                counters.provenance(what)
    for lane, one in enumerate(counted):
        chain = counters.provenance(lane).get("reset_chain", {})
        assert {key: item for key, item in chain.items() if key != "instance"} == one.chain()
    instances = [chain.instance for lane in range(LANES) if (chain := counters.chain(lane)) is not None]
    assert len({*instances}) == len(instances)


@given(deeds=deeds, rows=st.lists(flags, max_size=6))
def test_many_steps_are_counted_at_once(deeds: list[tuple[str, Any, Any]], rows: list[list[bool]]) -> None:
    """As by so many calls, without a change of what was counted so far."""
    resetting = np.array(rows, np.bool_).reshape(len(rows), LANES)
    one, other = ResetCounters(LANES), ResetCounters(LANES)
    for deed, what, seed in deeds:
        for each in (one, other):
            match deed:
                case "reset":
                    each.reset(what, seed)
                case "step":
                    each.step()
                case "step or reset":
                    each.step_or_reset(np.array(what))
                case "resets":
                    each.reset_without_seed(np.array(what))
    before, steps_before = [item.tolist() for item in one.counts], one.steps
    counts, steps = one.after(resetting)
    assert [item.tolist() for item in one.counts] == before
    assert one.steps == steps_before
    for row in resetting:
        other.step_or_reset(row)
    assert steps == other.steps
    for found, expected in zip(counts, other.counts, strict=True):
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()
