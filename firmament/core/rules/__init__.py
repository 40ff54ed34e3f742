"""The rules of scheduling, one file or folder each, under Kubernetes' names; `registry.py` lists them in order."""
