"""Base policies that fill machines: strategies of kube-scheduler's NodeResourcesFit."""
