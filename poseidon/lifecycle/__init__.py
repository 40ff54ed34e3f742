"""Keeps the state of each pod in the bridge, from the first event about it until it is deleted; does no I/O."""
