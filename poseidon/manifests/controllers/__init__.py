"""Plays the controllers of a cluster on manifests: creates pods of workloads, groups, records."""
