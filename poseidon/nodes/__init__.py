"""From nodes to machines, and what the solver has been told of them."""
