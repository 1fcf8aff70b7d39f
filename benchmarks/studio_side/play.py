"""Prints how many milliseconds the studio of a checkout adds to a step, in the median.

python play.py CHECKOUT small|large SESSIONS ROUNDS
"""

import statistics
import sys

if __name__ == "__main__":  # a worker imports this module again
    root, size, sessions, rounds = sys.argv[1:]
    sys.path[:0] = [f"{root}/benchmarks", root]
    from studio_side.environments import LARGE, SMALL
    from studio_side.overhead import overhead

    found = overhead({"small": SMALL, "large": LARGE}[size], int(sessions), int(rounds))
    print(statistics.median(found.milliseconds))
