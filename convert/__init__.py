"""Other people's recordings, read exactly: one module per format."""
