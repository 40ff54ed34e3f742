"""The strategies of kube-scheduler's NodeResourcesFit that fill machines, as base policies."""
