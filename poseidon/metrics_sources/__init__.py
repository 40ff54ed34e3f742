"""Reads the measured use of nodes and pods from several sources."""
