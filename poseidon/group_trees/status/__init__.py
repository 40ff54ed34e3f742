"""Finds what is written into the objects of topology groups and their pods."""
