"""PodDisruptionBudgets: their records for the solver, and whether they allow evicting a pod."""
