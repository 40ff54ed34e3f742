"""Moves and exchanges of tasks within a round, where they gain."""
