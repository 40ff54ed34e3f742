"""Preemption for groups that are distributed over a tree of machines."""
