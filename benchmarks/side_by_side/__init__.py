"""What `record.py` and `block_length.py` are made of. Players run in the virtual environments of the peers."""
