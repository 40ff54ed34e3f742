"""What people and drivers state about devices (resource.k8s.io/v1): slices, claims, quantities."""
