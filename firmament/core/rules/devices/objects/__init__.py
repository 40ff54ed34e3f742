"""Reads the objects by which people and drivers describe devices (resource.k8s.io/v1): slices, claims, quantities."""
