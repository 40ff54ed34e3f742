"""Decides when rounds run: one after another, as soon as there is work that could succeed."""
