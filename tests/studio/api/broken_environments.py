"""An environment that is registered, but whose module is not installed."""

import gymnasium

gymnasium.register("rlds_kit_tests/Broken-v0", "rlds_kit_tests_no_such_module:Broken")
