"""Translates nodes into machines, and remembers which machines the solver knows."""
