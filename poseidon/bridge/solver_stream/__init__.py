"""The stream to the solver: greeting, events, flow control, rounds."""
