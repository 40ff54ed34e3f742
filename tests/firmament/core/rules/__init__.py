"""Tests of `firmament.core.rules`."""
