"""Evicts tasks for groups that are distributed over a tree of machines."""
