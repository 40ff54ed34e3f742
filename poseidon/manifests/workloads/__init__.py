"""Workloads of other projects whose numbers of pods stand in the object: one file per family, one table for all."""
