"""Places what a network has left or cannot place, one task or one class at a time."""
