"""Load-aware scheduling, as Koordinator's: thresholds of use, estimates, scores."""
