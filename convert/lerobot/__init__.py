"""Reads and writes LeRobot's datasets, version 3."""
