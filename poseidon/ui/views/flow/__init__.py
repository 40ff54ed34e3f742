"""The flow of a round: which tasks went where, at which prices, and why the rest waits."""
