"""Makes records of PodDisruptionBudgets for the solver, and says whether budgets allow evicting a pod."""
