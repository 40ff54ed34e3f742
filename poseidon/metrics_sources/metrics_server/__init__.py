"""metrics.k8s.io."""
