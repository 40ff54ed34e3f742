"""Explains why trees of groups have no places."""
