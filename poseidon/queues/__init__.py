"""Reads the queue objects of several projects as trees of quotas, and finds the quota that each pod counts against."""
