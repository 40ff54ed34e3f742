"""Simulates hours of a cluster in minutes: the real solver, in this process, decides every placement.

`scenario` says what happens, `workloads` when tasks come and how long they run, `engine` lets time pass, and `report`
says what came of it.
"""
