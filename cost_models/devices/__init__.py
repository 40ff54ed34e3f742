"""Models that look at devices such as GPUs, and at the parts of them that tasks share."""
