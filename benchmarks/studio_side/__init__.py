"""What the benchmark of the studio plays, and how it measures."""
