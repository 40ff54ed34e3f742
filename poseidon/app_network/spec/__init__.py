"""Reads the specs of AppGroups and NetworkTopologies, and measured latencies."""
