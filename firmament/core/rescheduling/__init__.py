"""Plans moves of running tasks, for example to empty machines; plans are tried with real rounds, then undone."""
