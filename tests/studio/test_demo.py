"""The studies of the demo."""

import sys
from pathlib import Path

import pytest

from rlds_kit.studio import demo
from rlds_kit.studio.database import studies
from tests.studio.api.studio import Studio, opened
from tests.studio.api.window import playing


def add(studio: Studio, owner: str) -> list[str]:
    """Adds the demo; returns its messages."""

    async def adding() -> list[str]:
        return [said async for said in demo.add(studio.state.database, studio.state.inspector, owner)]

    assert studio.client.portal is not None
    return studio.client.portal.call(adding)


def test_the_demo_is_playable_at_once_and_added_once(tmp_path: Path) -> None:
    """Three games of the Arcade Learning Environment in one study, and a study for each of the classics."""
    with opened(tmp_path / "studio") as studio:
        designer = studio.person()
        problems = add(studio, designer.id)
        found = designer.get("/api/studies")["studies"]
        assert all(each["enabled"] for each in found)
        games = next(each for each in found if each["name"] == "Three Atari games")
        assert found[0] == games
        assert [each["environment"].split("/")[0] for each in games["environments"]] == ["ALE"] * 3
        made = {each["environment"] for study in found for each in study["environments"]}
        assert {"CartPole-v1", "MountainCar-v0", "FrozenLake-v1"} <= made
        assert len(found) + len(problems) == len(demo.DEMOS)
        has_wheel = sys.version_info < (3, 14)  # of Box2D, which Lunar lander needs
        assert [each for each in problems if "Lunar lander" not in each or has_wheel] == []
        assert add(studio, designer.id) == problems
        assert len(designer.get("/api/studies")["studies"]) == len(found)
        asked = {"study": games["id"], "environment": games["environments"][1]["id"]}
        with playing(studio, designer.post("/api/sessions", asked)["token"]) as window:
            window.begin()
            window.until_frame(3)
            assert window.end()["steps"] >= 3


@pytest.mark.parametrize("missing", ["ale_py", "pygame"])
def test_what_cannot_be_made_is_left_out(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a reason for each study; the studio opens all the same."""
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / f"{missing}.py").write_text(f"raise ModuleNotFoundError('there is none', name={missing!r})")
    monkeypatch.setenv("PYTHONPATH", str(shadow))
    monkeypatch.setattr(sys, "path", [str(shadow), *sys.path])  # processes of the pool receive this path
    monkeypatch.delitem(sys.modules, missing, raising=False)
    with opened(tmp_path / "studio") as studio:
        designer = studio.person()
        problems = add(studio, designer.id)
        found = {study.content.name for study in studio.do(studies.visible, designer.id, enabled=False, others=False)}
        assert ("Three Atari games" in found) == (missing != "ale_py")
        assert ("Cart pole" in found) == (missing != "pygame")  # which is imported only to draw it
        assert len(problems) + len(found) == len(demo.DEMOS)
