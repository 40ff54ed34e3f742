"""Text of Kubernetes objects as values: quantities, times, labels, JSON; and what is wrong with it."""
