"""Places for tasks that found none, made by evicting less important ones: which tasks go, and for whom."""
