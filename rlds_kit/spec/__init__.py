"""Specs, which describe the values of each field of a step: how to make them, and whether values fit them.

`from rlds_kit.spec import from_gymnasium` and `from_dm_env` give the modules of those names, which import the library
they convert from; no other module here does.
"""

from rlds_kit.spec.as_json import from_json, to_json
from rlds_kit.spec.batches import stacked
from rlds_kit.spec.bounds import out_of_bounds
from rlds_kit.spec.compatibility import compatible
from rlds_kit.spec.describe import describe_spec, describe_value
from rlds_kit.spec.fill import zeros
from rlds_kit.spec.fit import problems, require
from rlds_kit.spec.from_data import infer
from rlds_kit.spec.message import from_message, to_message
from rlds_kit.spec.problem import Problem, ProblemKind
from rlds_kit.spec.tree import (
    NONE,
    Any,
    Array,
    Bytes,
    Dict,
    Graph,
    List,
    OneOf,
    Optional,
    Sequence,
    Spec,
    Text,
    Tuple,
)
from rlds_kit.spec.union import merge

__all__ = [
    "NONE",
    "Any",
    "Array",
    "Bytes",
    "Dict",
    "Graph",
    "List",
    "OneOf",
    "Optional",
    "Problem",
    "ProblemKind",
    "Sequence",
    "Spec",
    "Text",
    "Tuple",
    "compatible",
    "describe_spec",
    "describe_value",
    "from_json",
    "from_message",
    "infer",
    "merge",
    "out_of_bounds",
    "problems",
    "require",
    "stacked",
    "to_json",
    "to_message",
    "zeros",
]
