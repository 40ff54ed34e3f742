"""Simulates hours of a cluster in minutes: the real solver, in this process, decides every placement.

`scenario` describes the input, `workloads` makes the arriving tasks, `engine` lets time pass, and `report` computes the
results.
"""
