"""Finds what could be better in a cluster."""
