"""Expands workloads of other projects whose objects state how many pods they have: one file per family, one table."""
