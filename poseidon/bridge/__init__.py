"""The bridge as a process: what it follows, what it knows, what it sends to the solver, and what it writes."""
