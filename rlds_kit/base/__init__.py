"""Code that all higher floors share: errors, the field names of a step, atomic file writes, progress."""
