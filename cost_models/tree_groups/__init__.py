"""Distributes groups of tasks over a tree of machines, as Sakkara does."""
