"""Which of several bridges of a cluster is the one that decides: by a Lease, as Kubernetes' own controllers do it."""
