"""Expected ends of tasks, and of machines."""
