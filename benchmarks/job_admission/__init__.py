"""Suspended Jobs admitted by Kueue and by this project, on the same control plane: time, processor, writes."""
