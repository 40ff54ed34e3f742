"""Preemption for quotas: places tasks that lack quota by evicting tasks that use the same tree of quotas."""
