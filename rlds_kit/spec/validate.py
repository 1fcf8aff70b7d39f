"""Every question about whether something fits a spec: a value (`fit`, `bounds`) or another spec (`compatibility`)."""

from rlds_kit.spec.bounds import out_of_bounds
from rlds_kit.spec.compatibility import compatible
from rlds_kit.spec.fit import problems, require
from rlds_kit.spec.problem import Problem

__all__ = ["Problem", "compatible", "out_of_bounds", "problems", "require"]
