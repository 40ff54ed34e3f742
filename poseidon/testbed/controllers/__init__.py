"""Simulates other programs of a cluster: kubelets, disruption and volume controllers, and the true use of pods."""
