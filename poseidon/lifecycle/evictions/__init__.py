"""Reviews the evictions that the solver requests, then begins or withdraws them."""
