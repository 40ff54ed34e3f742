"""Reads a running cluster and its solver for commands. Nothing is written."""
