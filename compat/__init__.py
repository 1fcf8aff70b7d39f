"""Stands for other libraries, so that programs written for them run: `rlds`, `envlogger`, and `reverb`'s patterns."""
