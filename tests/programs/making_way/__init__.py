"""Pods that make way, with the bridge's state and the solver's core together, in simulated time."""
