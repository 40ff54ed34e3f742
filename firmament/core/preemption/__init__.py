"""Evicts less important tasks so that others get places: chooses which tasks leave, and for which."""
