"""Pods that have to make way: whether to believe the solver, how many at a time, until they are gone."""
