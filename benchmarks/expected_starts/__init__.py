"""Measures how good expected starts are: compares predictions in simulated clusters with the real starts."""
