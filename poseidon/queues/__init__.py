"""Queues: the objects of several projects, read as one tree of quotas, and which pods draw on which of them."""
