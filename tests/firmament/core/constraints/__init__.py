"""Tests of `firmament.core.constraints`."""
