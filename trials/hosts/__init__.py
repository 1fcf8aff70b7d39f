"""What runs trials: environments and actors in processes, recorded as they are played."""
