"""The features of a build for TFDS, and the digest of the values that TFDS returns."""

import json
from typing import Any

import tensorflow_datasets as tfds
import xxhash

from rlds_kit.tfds_builders.example_digest import example_digests
from rlds_kit.tfds_builders.shards.spec import ShardSpec


def features_of(spec: ShardSpec) -> Any:  # tfds.features.FeaturesDict
    """The features that the plan decided on."""
    return tfds.features.FeatureConnector.from_json(json.loads(spec.features))


def values_digest(made: dict[str, Any], features: Any) -> bytes:
    """16 bytes over every value that TFDS holds of an episode, with its dtype and shape.

    The content digest of our own format also covers what TFDS has no room for (exact Python types, masks), so it cannot
    be computed again from TFDS's files. This one can: once from what the source gave, once from what was read back.
    """
    found = sorted(example_digests(made, features).items())
    return xxhash.xxh3_128_digest(b"".join(repr(path).encode() + digest for path, digest in found))
