"""Tests of `firmament.rules`."""
