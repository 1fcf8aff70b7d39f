"""One recorded episode: its fields, steps and metadata, and the transitions of its agents."""
