"""Finds changes that would give a waiting task a place: to the task, to machines, or moves of others; each is
tested.
"""
