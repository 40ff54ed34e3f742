"""Reads AppGroups, NetworkTopologies and measurements of latency."""
