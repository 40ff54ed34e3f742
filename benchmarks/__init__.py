"""Benchmarks: how fast, and how good, measured stage by stage. Run with ``python -m benchmarks``."""
