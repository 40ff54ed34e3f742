"""Rounds of a few plain tasks, which need no network: what a first task costs on each machine says where they go."""
