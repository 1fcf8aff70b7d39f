"""A crowd that tests declare."""

from typing import Final

from rlds_kit.crowd.tasks import Crowd, parse_crowd

FILE: Final = """
name = "Invaders"
recruitment = ["prolific", "mturk", "email", "social", "laboratory", "test"]
consent = "I agree to be recorded."
completion_code = "C1AB23"
over_recruit = 0.25
attempts = 2

[[before]]
name = "age"
label = "Your age"
kind = "number"
least = 18
most = 120

[[before]]
name = "often"
label = "I play often."
kind = "likert"

[[check]]
name = "goal"
label = "Which aliens come first?"
kind = "choice"
options = ["the inner ones", "the outer ones"]
correct = "the inner ones"

[[after]]
name = "remarks"
label = "Anything else?"
required = false

[screening]
least_width = 800
most_latency_ms = 150
refused_browsers = ["Firefox"]

[groups.main]
mode = "equal"
tasks = ["inside_out", "row_by_row", "pair"]

[groups.quota]
mode = "quota"
tasks = ["inside_out", "row_by_row"]

[groups.cards]
mode = "choose"

[tasks.inside_out]
title = "Inside out"
environment = "ALE/SpaceInvaders-v5"
collectors = ["inside_out", "inside_out_count", "active_time"]
instructions = "Shoot the inner columns first."
target = 40

[tasks.inside_out.treatment]
preset = "all"
lump_cents = 200
base_cents = 50

[tasks.row_by_row]
title = "Row by row"
environment = "ALE/SpaceInvaders-v5"
target = 40

[tasks.row_by_row.treatment]
base_cents = 100
requirements = [{ collector = "score", at_least = 3 }]
bonus = { most_cents = 100, count = "row_by_row_count", fraction = "row_by_row", formula = "code_2022" }

[tasks.pair]
title = "Together"
environment = "rlds_kit.crowd.space_invaders:make"
seats = 2
target = 40
wait_seconds = 60
instructions = { first = "You are on the left.", second = "You are on the right." }
treatment = { base_cents = 100, requirements = [{ collector = "score", at_least = 3 }] }
"""


def crowd() -> Crowd:
    """The crowd of that file."""
    return parse_crowd(FILE)
