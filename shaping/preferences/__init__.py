"""Answers of people about recorded segments: comparisons, rankings, ratings, corrections, demonstrations, text, marks.

All kinds have one schema: a `Query` about segments, and a `Response` with an answer. They are stored as a layer.
"""

from rlds_kit.shaping.preferences.agreement import Agreement, agreement, krippendorff_alpha
from rlds_kit.shaping.preferences.answers import (
    KINDS,
    Answer,
    Choice,
    Comparison,
    Correction,
    Demonstration,
    FeatureMark,
    Marks,
    PlaceMark,
    Ranking,
    Rating,
    Remark,
)
from rlds_kit.shaping.preferences.query import Query, Response, latest
from rlds_kit.shaping.preferences.sampling import Closest, Disagreement, Scores, Strategy, Uniform, queries
from rlds_kit.shaping.preferences.segment import Segment, cut
from rlds_kit.shaping.preferences.stored import Responses, drafts, responses, retractions

__all__ = [
    "KINDS",
    "Agreement",
    "Answer",
    "Choice",
    "Closest",
    "Comparison",
    "Correction",
    "Demonstration",
    "Disagreement",
    "FeatureMark",
    "Marks",
    "PlaceMark",
    "Query",
    "Ranking",
    "Rating",
    "Remark",
    "Response",
    "Responses",
    "Scores",
    "Segment",
    "Strategy",
    "Uniform",
    "agreement",
    "cut",
    "drafts",
    "krippendorff_alpha",
    "latest",
    "queries",
    "responses",
    "retractions",
]
