"""Imports rlds_kit, opens a dataset and makes a batch of transitions; prints how long it took."""

import time

begin = time.perf_counter()
import json  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))
import rlds_kit  # noqa: E402

imported = time.perf_counter() - begin
shuffle, folder = {"in order": None, "blocks": "blocks", "global": "global"}[sys.argv[1]], Path(sys.argv[2])
batch = next(iter(rlds_kit.open(folder / "recording").transitions().batches(256, shuffle=shuffle, seed=0)))
print(json.dumps({"seconds": time.perf_counter() - begin, "import": imported, "rows": len(batch["reward"])}))
