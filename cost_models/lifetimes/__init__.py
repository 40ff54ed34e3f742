"""Empties machines sooner, by placing tasks together that end at about the same time."""
