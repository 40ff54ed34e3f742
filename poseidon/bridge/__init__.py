"""Runs the bridge: watches Kubernetes' objects, keeps their state, sends it to the solver, and writes the results."""
