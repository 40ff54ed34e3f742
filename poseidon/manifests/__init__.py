"""Kubernetes manifests from files: read, checked as a whole, and expanded into the pods they would create."""
