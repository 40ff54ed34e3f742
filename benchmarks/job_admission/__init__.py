"""Compares Kueue and this project in admitting suspended Jobs on one control plane: time, processor, writes."""
