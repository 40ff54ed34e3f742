"""The time machine: hours of a cluster in minutes, decided by the solver itself in this process.

`scenario` says what happens, `workloads` when tasks come and how long they run, `engine` lets time pass, and `report`
says what came of it.
"""
