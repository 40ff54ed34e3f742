"""Parses text in Kubernetes objects, such as quantities, labels and JSON, and reports faults in it."""
