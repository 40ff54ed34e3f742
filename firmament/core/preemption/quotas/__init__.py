"""Evicts tasks for quota: places tasks that lack quota where tasks leave that use the same tree of quotas."""
