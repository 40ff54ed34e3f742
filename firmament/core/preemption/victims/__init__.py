"""Chooses the tasks that would have to leave a machine: bundles of victims."""
