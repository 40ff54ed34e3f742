"""Load-aware scheduling as in Koordinator: thresholds of use, estimates of use, scores."""
