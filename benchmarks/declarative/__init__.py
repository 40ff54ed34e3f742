"""Workloads as data: op lists in YAML over templates that are Kubernetes manifests."""
