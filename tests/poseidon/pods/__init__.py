"""Kubernetes objects to protocol messages."""
