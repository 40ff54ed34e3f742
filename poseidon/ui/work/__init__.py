"""What takes long: done by a process beside the one that answers, one thing after another."""
