"""The work that arrives in a simulation: drawn from distributions, or read from traces."""
