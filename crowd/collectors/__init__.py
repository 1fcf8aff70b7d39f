"""Collectors: what is counted of a participant's play, by the same code live and of recordings."""

from rlds_kit.crowd.collectors.aliens import Alien, Formation
from rlds_kit.crowd.collectors.collector import Collector, Count
from rlds_kit.crowd.collectors.general import ACTIVE_TIME, SCORE, TIME_PLAYED, active_time
from rlds_kit.crowd.collectors.lag import FRAME_LAG, ROUND_TRIP, SHOWN_AHEAD, Lags
from rlds_kit.crowd.collectors.live import CollectorWrapper
from rlds_kit.crowd.collectors.live_counts import LiveCounts, can_travel
from rlds_kit.crowd.collectors.moment import Moment, moment, moments
from rlds_kit.crowd.collectors.offline import annotate_with, collect
from rlds_kit.crowd.collectors.orders import (
    ACCURACY,
    ALIENS_HIT,
    INSIDE_OUT,
    INSIDE_OUT_COUNT,
    ODD_ROWS,
    OUTSIDE_IN,
    OUTSIDE_IN_COUNT,
    ROW_BY_ROW,
    ROW_BY_ROW_COUNT,
)
from rlds_kit.crowd.collectors.position import (
    RIVER_RAID_LEFT,
    RIVER_RAID_RIGHT,
    SPACE_INVADERS_LEFT,
    SPACE_INVADERS_RIGHT,
    x_position,
)
from rlds_kit.crowd.collectors.shipped import COLLECTORS, collector
from rlds_kit.crowd.collectors.tally import Tally, Values

__all__ = [
    "ACCURACY",
    "ACTIVE_TIME",
    "ALIENS_HIT",
    "COLLECTORS",
    "FRAME_LAG",
    "INSIDE_OUT",
    "INSIDE_OUT_COUNT",
    "ODD_ROWS",
    "OUTSIDE_IN",
    "OUTSIDE_IN_COUNT",
    "RIVER_RAID_LEFT",
    "RIVER_RAID_RIGHT",
    "ROUND_TRIP",
    "ROW_BY_ROW",
    "ROW_BY_ROW_COUNT",
    "SCORE",
    "SHOWN_AHEAD",
    "SPACE_INVADERS_LEFT",
    "SPACE_INVADERS_RIGHT",
    "TIME_PLAYED",
    "Alien",
    "Collector",
    "CollectorWrapper",
    "Count",
    "Formation",
    "Lags",
    "LiveCounts",
    "Moment",
    "Tally",
    "Values",
    "active_time",
    "annotate_with",
    "can_travel",
    "collect",
    "collector",
    "moment",
    "moments",
    "x_position",
]
