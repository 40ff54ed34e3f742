"""The simulated Kubernetes API over HTTP: its requests, lists, watches and verbs."""
