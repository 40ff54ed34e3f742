"""Rounds with pairs of tasks: whole applications are planned, placed and improved."""
