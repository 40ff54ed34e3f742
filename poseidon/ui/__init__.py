"""The dashboard, which shows a cluster and its solver in a browser, and changes nothing in the cluster."""
