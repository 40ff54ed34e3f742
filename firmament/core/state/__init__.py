"""The state of one cluster: tables of machines, tasks, classes and jobs, and indexes derived from these."""
