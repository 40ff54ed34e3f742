"""Rules between tasks, compiled to arrays: which tasks may not, must or should be near which others."""
