"""Asks a running solver what it knows: for `firmament get`, `explain` and `export-network`."""
