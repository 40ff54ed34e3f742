"""Plans for running tasks, such as emptying machines: tried with real rounds, and taken back."""
