"""Quotas: the amounts that tasks of a queue, or of a tree of queues, may take together in the whole cluster."""
