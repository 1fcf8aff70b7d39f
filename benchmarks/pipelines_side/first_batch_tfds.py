"""Imports TFDS and rlds, opens a dataset and makes a batch of transitions; prints how long it took."""

import time

begin = time.perf_counter()
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow_datasets  # noqa: E402, F401

imported = time.perf_counter() - begin
from pipelines_side.play_tfds import STREAMS  # noqa: E402  TensorFlow itself is imported when it is first used

batch = next(STREAMS[sys.argv[1]](Path(sys.argv[2]), False))
print(json.dumps({"seconds": time.perf_counter() - begin, "import": imported, "rows": len(batch["reward"])}))
