"""The moves that searches try, one file per move."""
