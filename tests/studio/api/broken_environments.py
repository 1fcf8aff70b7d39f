"""Registered environments for which a package is not installed."""

from typing import Any

import gymnasium

from tests.trials.environments.odd_environments import Corridor

ADVICE = 'a drawing library is not installed, run `pip install "gymnasium[toy-text]"`'


class Undrawable(Corridor):
    """Can be made and reset, but not drawn; Gymnasium imports its drawing library only then."""

    def render(self) -> Any:
        """Raises the same error as Gymnasium's own environments."""
        raise gymnasium.error.DependencyNotInstalled(ADVICE)


class Unmade(Corridor):
    """Cannot be made."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        raise gymnasium.error.DependencyNotInstalled(ADVICE)


gymnasium.register("rlds_kit_tests/Broken-v0", "rlds_kit_tests_no_such_module:Broken")
gymnasium.register("rlds_kit_tests/Undrawable-v0", "tests.studio.api.broken_environments:Undrawable")
gymnasium.register("rlds_kit_tests/Unmade-v0", "tests.studio.api.broken_environments:Unmade")
