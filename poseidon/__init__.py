"""Poseidon: the bridge. It speaks Kubernetes on one side and the solver's protocol on the other."""

__version__ = "0.1.0"
