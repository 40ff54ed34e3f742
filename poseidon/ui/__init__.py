"""The dashboard: what a browser is shown of a cluster and its solver. Nothing in the cluster is changed."""
