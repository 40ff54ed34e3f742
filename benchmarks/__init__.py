"""Benchmarks of speed and of placement quality, stage by stage. Run with ``python -m benchmarks``."""
