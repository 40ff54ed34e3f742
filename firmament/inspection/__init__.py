"""Asks a running solver for its state, for `firmament get`, `explain` and `export-network`."""
