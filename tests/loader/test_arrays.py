"""All samples as arrays."""

import pytest
from hypothesis import given, settings

from rlds_kit.loader import samples as samples_module
from tests.loader.recording import Plan, plain, plans, recorded
from tests.storage.truth import same


@given(plan=plans())
@settings(max_examples=25)
def test_arrays_are_one_batch_of_all_samples(plan: Plan) -> None:
    """Of transitions and windows, whatever was recorded, also of a dataset without samples."""
    with recorded(plan) as dataset, pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples_module, "_ARRAYS_SAMPLES", 3)  # so that there are several batches
        for samples in (dataset.transitions(), dataset.windows(2, pad="zero")):
            assert same(samples.arrays(threads=2), samples.gather(range(len(samples))))


def test_transitions_of_a_whole_dataset() -> None:
    """One row for every action, in the order of the data."""
    with recorded(plain(4, 3, observation="scalar")) as dataset:
        found = dataset.transitions().arrays()
        assert found["episode"].tolist() == [0, 0, 0, 1, 1]
        assert found["step"].tolist() == [0, 1, 2, 0, 1]
        assert len(found["reward"]) == len(found["observation"]) == len(found["next_observation"]) == 5
