"""Tables of manuals, which people review."""
