"""Puts a round's decisions into effect, checked against what has happened meanwhile."""
