"""Estimates the prices that a round is likely to end with, before anything is solved."""
