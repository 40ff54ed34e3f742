"""Evicts less important tasks to place waiting tasks: chooses the victims, and the task that follows each."""
