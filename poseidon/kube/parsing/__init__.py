"""Parses text in Kubernetes objects: quantities, times, labels, JSON; and reports what is wrong with it."""
