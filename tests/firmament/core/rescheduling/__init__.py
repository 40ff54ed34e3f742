"""Rescheduling: which machines could be emptied, against exhaustive search and against search of prefixes."""
