"""A trial as a state machine: it takes events, gives messages and does nothing else."""
