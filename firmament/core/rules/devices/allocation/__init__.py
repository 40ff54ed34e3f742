"""Chooses devices for claims on one machine: which devices match, and which may be allocated together."""
