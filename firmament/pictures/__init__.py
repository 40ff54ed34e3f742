"""Draws flow networks as SVG, without any library."""
