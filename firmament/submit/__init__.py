"""Drives a running solver with a simulated cluster and workload, and measures it."""
