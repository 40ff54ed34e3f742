"""Finds moves of running tasks that lower the cost, in a network where staying is free and moves have a price."""
