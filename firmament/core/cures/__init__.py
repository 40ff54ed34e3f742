"""Finds and tests changes that would give a waiting task a place: of the task, of machines, or moves of other tasks."""
