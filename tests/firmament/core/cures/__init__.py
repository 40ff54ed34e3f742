"""Tests of what would let tasks that wait have a place."""
