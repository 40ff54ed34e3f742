"""Measures how time and memory of rounds grow with the numbers of nodes, tasks and classes."""
