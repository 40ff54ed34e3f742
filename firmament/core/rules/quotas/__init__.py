"""Quotas: how much the tasks of a queue, and of a tree of queues, take together in the whole cluster."""
