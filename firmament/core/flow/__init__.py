"""Builds the flow network: chooses its arcs and their costs, and proves that the arcs left out do not matter."""
