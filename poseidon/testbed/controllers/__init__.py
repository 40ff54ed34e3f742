"""Simulates other programs of a cluster: kubelets, controllers of budgets and volumes, and the true use of pods."""
