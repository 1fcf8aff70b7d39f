"""What a person sees of their way, as JSON."""

import math
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.crowd.collectors import collector
from rlds_kit.crowd.incentives import Requirement, Reward, Treatment, shown
from rlds_kit.crowd.incentives.ledger import amount
from rlds_kit.crowd.tasks import Crowd, Group, Mode, Question, Source, Stage, completion_address
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.crowd.games import Game
from rlds_kit.studio.database.crowds import Message, Visit

_STEPS: Final = (Stage.CONSENT, Stage.QUESTIONS, Stage.INSTRUCTIONS, Stage.CHECK, Stage.LOBBY, Stage.PLAY, Stage.AFTER)


def visit_as_json(desk: Desk, visit: Visit, messages: list[Message]) -> dict[str, Any]:
    """Where a participant is, and what their page shows there; answers that are correct are not in it."""
    person, crowd = visit.person, desk.crowd
    return {
        "id": person.id,
        "name": crowd.name,
        "stage": person.stage.value,
        "is_paused": desk.row.is_paused,
        "progress": _progress(crowd, person.stage),
        "reason": person.reason,
        "messages": [{"id": each.id, "text": each.text} for each in messages],
        **_of_stage(desk, visit),
    }


def _progress(crowd: Crowd, stage: Stage) -> float:
    """From 0 to 1, of the steps that this crowd has."""
    without = {
        Stage.CONSENT: not crowd.consent,
        Stage.QUESTIONS: not crowd.before,
        Stage.CHECK: not crowd.check,
        Stage.AFTER: not crowd.after,
    }
    steps = [each for each in _STEPS if not without.get(each, False)]
    return steps.index(stage) / len(steps) if stage in steps else float(stage is Stage.DONE)


def _of_stage(desk: Desk, visit: Visit) -> dict[str, Any]:
    crowd, group = desk.crowd, desk.crowd.groups[visit.person.group]
    match visit.person.stage:
        case Stage.CONSENT:
            return {"consent": {"text": crowd.consent, "hash": crowd.consent_hash}}
        case Stage.QUESTIONS:
            return {"form": [_question(each) for each in crowd.before]}
        case Stage.AFTER:
            return {"form": [_question(each) for each in crowd.after], "earned": _earned(visit.earned, crowd)}
        case Stage.INSTRUCTIONS:
            return {"instructions": _instructions(desk, group), "wrong_checks": visit.person.wrong_checks}
        case Stage.CHECK:
            left = crowd.attempts - visit.person.wrong_checks
            return {"form": [_question(each) for each in crowd.check], "attempts": left}
        case Stage.LOBBY:
            return {"cards": _cards(desk, group), "game": _game(desk.game_of(visit))}
        case Stage.PLAY:
            return {"game": _game(desk.game_of(visit))}
        case Stage.DONE:
            return _end(desk, visit)
    return {}


def _question(question: Question) -> dict[str, Any]:
    found = {name: getattr(question, name) for name in ("name", "label", "kind", "options", "points", "is_required")}
    limits = {"least": question.least, "most": question.most}
    return {**found, **{name: value if math.isfinite(value) else None for name, value in limits.items()}}


def _instructions(desk: Desk, group: Group) -> list[str]:
    """The texts of the group's tasks if they are the same: else they would say which treatments there are."""
    texts = {desk.crowd.tasks[name].instructions_for("") for name in group.tasks}
    return [text for text in texts if text] if len(texts) == 1 else []


def _cards(desk: Desk, group: Group) -> list[dict[str, str]]:
    if group.mode is not Mode.CHOOSE:
        return []
    tasks = [desk.crowd.tasks[name] for name in group.tasks]
    return [{"name": each.name, "title": each.title, "text": each.text} for each in tasks]


def _game(game: Game | None) -> dict[str, Any] | None:
    if game is None:
        return None
    return {"title": game.task.title, "is_alone": game.is_alone, "people": len(game.seats)}


def _end(desk: Desk, visit: Visit) -> dict[str, Any]:
    crowd, game = desk.crowd, desk.game_of(visit)
    is_done = visit.earned.completion >= 1
    code = (crowd.completion_code or desk.code(visit)) if is_done else ""
    address = completion_address(Source(visit.person.kind, "", {}), code) if code else ""
    return {
        "code": code,
        "address": address or (game.task.redirect if game and is_done else ""),
        "earned": _earned(visit.earned, crowd),
        "can_play_again": game is not None and game.task.play_again,
    }


def _earned(earned: Reward, crowd: Crowd) -> dict[str, Any]:
    return {
        "completion": earned.completion,
        "base": amount(earned.base_cents),
        "bonus": amount(earned.bonus_cents),
        "total": amount(earned.total_cents),
        "tickets": earned.tickets,
        "currency": crowd.currency,
    }


def values_as_json(
    game: Game, treatment: Treatment, values: Mapping[str, float], earned: Reward, crowd: Crowd
) -> dict[str, Any]:
    """What is counted so far, item by item: requirements first, then what else is shown."""
    required = {each.collector for each in treatment.requirements}
    others = [name for name in dict.fromkeys((*game.task.collectors, *treatment.collectors)) if name not in required]
    items = [_required(each, values) for each in treatment.requirements]
    items += [
        {"name": name, "text": f"{found.label}: {shown(values.get(name, 0.0), is_fraction=found.is_fraction)}"}
        for name in others
        for found in [collector(name)]
    ]
    is_paid = bool(treatment.base_cents or treatment.bonus)
    return {"items": items, "earned": _earned(earned, crowd), "is_paid": is_paid}


def _required(requirement: Requirement, values: Mapping[str, float]) -> dict[str, Any]:
    done = requirement.progress(values)
    return {"name": requirement.collector, "text": requirement.text(values), "progress": done}


def row_as_json(visit: Visit) -> dict[str, Any]:
    """A row of the experimenter's table; it says nothing of who the person is."""
    person, place = visit.person, visit.person.place
    plain = (
        "id",
        "group",
        "kind",
        "arrived",
        "changed",
        "completion",
        "quality",
        "wrong_checks",
        "consented",
        "reason",
        "is_test",
    )
    return {
        **{name: getattr(person, name) for name in plain},
        "stage": person.stage.value,
        "left": None if person.left is None else person.left.value,
        "task": None if place is None else place.task,
        "session": visit.session_id,
        "cents": visit.earned.total_cents,
        "is_paid": visit.paid_ns is not None,
        "has_code": visit.code_hash is not None,
        "is_code_used": visit.code_used_ns is not None,
    }
