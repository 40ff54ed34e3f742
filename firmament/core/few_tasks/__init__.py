"""Rounds of a few plain tasks, which need no network: the cost of a first task on each machine decides."""
