"""Tasks for the studio: people train agents."""
