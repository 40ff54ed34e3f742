"""Koordinator's NodeMetric."""
