"""Capacity that is kept for restarting gangs."""
