"""Episodes in shards: the messages, the blocks, the writer and the reader of `docs/format.md`."""
