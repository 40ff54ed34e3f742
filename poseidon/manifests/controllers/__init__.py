"""Imitates the controllers of a cluster: creates pods of workloads, binds claims, and reads applications."""
