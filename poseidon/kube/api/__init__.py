"""Defines Kubernetes' objects, with the fields that a scheduler reads, and the API paths that serve them."""
