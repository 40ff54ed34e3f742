"""Preemption by groups that share out over a tree of machines."""
