"""Batches for training: windows, chunks and transitions of recorded steps as NumPy arrays."""

from rlds_kit.loader.batches import Batches
from rlds_kit.loader.mixture import MixedBatches, MixedSamples, Mixture, mix
from rlds_kit.loader.samples import Samples

__all__ = ["Batches", "MixedBatches", "MixedSamples", "Mixture", "Samples", "mix"]
