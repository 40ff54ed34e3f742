"""The rule about devices that tasks claim (Kubernetes' dynamic resource allocation)."""
