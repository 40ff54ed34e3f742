"""Reviews the evictions that the solver asks for, then begins or withdraws them."""
