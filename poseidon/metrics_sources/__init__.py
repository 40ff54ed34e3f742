"""Measured use of nodes and pods, from whatever source."""
