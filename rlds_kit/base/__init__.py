"""What every floor above needs and nothing else: errors, the names of a step, files that appear whole, progress."""
