"""Searches for a better placement than that of the flow, with one driver and a file per move."""
