"""Kills bridge and solver repeatedly while pods get devices: no device may be given twice or lost."""
