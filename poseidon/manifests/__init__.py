"""Reads Kubernetes manifests from files, checks them as a whole, and expands workloads into their pods."""
