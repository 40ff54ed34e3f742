"""Differential tests of the placement rules of core/v1: random clusters, a checker, and rivals of the core."""
