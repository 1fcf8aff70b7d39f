"""The names of `rlds.tfds.config_generator`."""

from rlds_kit.tfds_builders import extract_feature_from_data, generate_config_from_spec

__all__ = ["extract_feature_from_data", "generate_config_from_spec"]
