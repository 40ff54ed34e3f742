"""Kubernetes objects, with the fields that a scheduler reads, and the paths where the API serves them."""
