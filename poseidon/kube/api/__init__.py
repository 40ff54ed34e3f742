"""Kubernetes objects, as far as a scheduler looks at them, and where the API serves them."""
