"""Measures rounds by what tasks ask for: gangs, NUMA zones, preemption, queues, trees."""
