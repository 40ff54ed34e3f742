"""Reads a running cluster and its solver for commands. The package writes nothing to the cluster."""
