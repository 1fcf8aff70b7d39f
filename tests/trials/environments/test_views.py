"""What there is to see of an environment."""

from importlib.util import find_spec

import numpy as np
import pytest

from rlds_kit import spec as specs
from rlds_kit.trials.environments.gymnasium_playable import GymnasiumPlayable
from rlds_kit.trials.environments.playable import SEAT, EnvironmentSpec
from rlds_kit.trials.environments.views import views_of

IMAGE = specs.Array((16, 20, 3), "uint8")


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (IMAGE, []),
        (specs.Dict({"a": IMAGE, "b": specs.Array((16, 16, 1), "uint8")}), ["a", "b"]),
        (specs.Tuple((specs.Array((3,), "float32"), specs.Dict({"eye": IMAGE}))), ["1/eye"]),
        (specs.Dict({"codes": specs.Array((7, 7, 3), "uint8"), "depth": specs.Array((16, 16, 1), "float32")}), []),
        (specs.Dict({"chars": specs.Array((21, 79), "uint8"), "first": specs.Array((3, 16, 16), "uint8")}), []),
        (specs.Dict({"default": IMAGE}), []),
    ],
)
def test_r22_images_of_nested_observations_are_views(spec: specs.Spec, names: list[str]) -> None:
    """Not what only has the type of images; what the environment draws comes first."""
    assert list(views_of(lambda: None, spec, dict)) == ["default", *names]


def test_r22_cameras_of_mujoco_are_views() -> None:
    """They see something else, and whoever looks changes neither the simulation nor the view of the environment."""
    for module in ("mujoco", "glfw", "imageio"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'gymnasium[mujoco]'; MUJOCO_GL=egl")
    plain, looked = (GymnasiumPlayable(EnvironmentSpec("HalfCheetah-v5")) for _ in range(2))
    assert looked.cameras == ("default", "camera track")
    action = np.full(6, 0.5, np.float32)
    for playable in (plain, looked):
        playable.reset(3, None)
    before = looked.picture(0)
    assert not np.array_equal(np.asarray(looked.picture(1)), np.asarray(before))
    np.testing.assert_array_equal(np.asarray(looked.picture(0)), np.asarray(before))
    for _ in range(3):
        looked.picture(1)
        outcomes = [playable.step({SEAT: action}) for playable in (plain, looked)]
        np.testing.assert_equal(outcomes[0].observed, outcomes[1].observed)
    plain.close()
    looked.close()
