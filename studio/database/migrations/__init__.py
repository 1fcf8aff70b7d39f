"""How tables of an older version become those of this one, in order."""
