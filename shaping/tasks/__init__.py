"""Tasks for the studio: people train agents, and judge recorded segments."""

from rlds_kit.shaping.tasks.queues import Queue, write_queue

__all__ = ["Queue", "write_queue"]
