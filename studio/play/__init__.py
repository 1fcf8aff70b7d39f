"""Episodes as they are played: messages between an engine, a worker and the windows of people."""
