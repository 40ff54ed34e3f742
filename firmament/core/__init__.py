"""The scheduling core: takes events, and returns the results of rounds.

The core does no I/O and has no clock of its own.
"""
