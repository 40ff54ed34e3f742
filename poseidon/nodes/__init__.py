"""Turns nodes into machines, and remembers which of them the solver knows."""
