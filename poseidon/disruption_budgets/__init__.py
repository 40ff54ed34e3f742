"""PodDisruptionBudgets: what the solver is told of them, and whether they let a pod be evicted."""
