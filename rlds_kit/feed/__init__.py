"""Feeds other frameworks: `tf.data`, PyTorch and Grain, one thin module each, imported when they are asked for."""
