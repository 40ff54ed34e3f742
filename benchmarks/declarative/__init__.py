"""Workloads as data: lists of ops in YAML, with Kubernetes manifests as templates."""
