"""Keeps what is left while a round's tasks are placed: capacity, limits, and rules between tasks, in one board."""
