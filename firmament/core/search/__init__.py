"""Searches for a better placement than that of the flow: one driver, and a file per move."""
