"""Programs that act from seats, each in a process of its own: what they are, how they are found, and how they run."""
