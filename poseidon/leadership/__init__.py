"""Elects one of several bridges of a cluster as leader, by a Lease, as Kubernetes' own controllers do."""
