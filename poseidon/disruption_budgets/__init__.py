"""PodDisruptionBudgets as records for the solver."""
