"""Simulates hours of a cluster in minutes; the real solver runs in this process and decides every placement.

`scenario` describes the input, `workloads` makes the tasks that arrive, `engine` lets time pass, and `report`
computes the results.
"""
