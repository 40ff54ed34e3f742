"""Slow, obvious models of what the scheduler must do, in plain Python: dicts and loops, no arrays.

They read the same events and results as the scheduler, and share no logic with it: every rule is written again.
"""
