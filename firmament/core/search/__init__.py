"""Searches for a better placement than the flow has found: one driver, and a file per move."""
