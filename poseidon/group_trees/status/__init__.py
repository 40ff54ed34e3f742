"""Finds the statuses and labels to write into the objects of topology groups and their pods."""
