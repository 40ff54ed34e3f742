"""Chooses devices for claims on one machine: which match, which together, and an exact search."""
