"""Handles the stream to the solver: greeting, events, flow control and results of rounds."""
