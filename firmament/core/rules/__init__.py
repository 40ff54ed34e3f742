"""The rules of scheduling, one file or folder each, by Kubernetes' names; `registry.py` has them in order."""
