"""Solvers of min-cost flow problems, with one interface."""
