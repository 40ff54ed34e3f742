"""The flow of a round: who went where, at which prices, and why the rest waits."""
