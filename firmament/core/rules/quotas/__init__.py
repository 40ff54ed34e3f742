"""The rule about quotas: the amounts that tasks of a queue, or of a tree of queues, may take together."""
