"""Trials on the machines of a cluster of Ray."""

from rlds_kit.trials.ray.ray_cluster import RayCluster

__all__ = ["RayCluster"]
