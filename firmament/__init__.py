"""Firmament: the solver. It knows machines, tasks and costs, and nothing of Kubernetes."""

__version__ = "0.1.0"
