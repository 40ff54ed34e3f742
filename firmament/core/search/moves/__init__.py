"""Defines the moves that searches try, in one file per move."""
