"""The options of loggers that are passed on by keyword."""

import inspect
from typing import Any

import pytest

from rlds_kit.logger.agents_recording import PettingZooOptions
from rlds_kit.logger.recorder_options import RecorderOptions
from rlds_kit.storage.recorder import Recorder


@pytest.mark.parametrize("options", [RecorderOptions, PettingZooOptions])
def test_no_option_is_required(options: Any) -> None:
    """A type checker would refuse calls that leave one out, although each has a default."""
    assert (options.__total__, options.__required_keys__) == (False, frozenset())


def test_options_are_keywords_of_the_recorder_with_a_default() -> None:
    parameters = inspect.signature(Recorder).parameters
    assert {
        name
        for name in RecorderOptions.__optional_keys__
        if name not in parameters or parameters[name].default is inspect.Parameter.empty
    } == set()
