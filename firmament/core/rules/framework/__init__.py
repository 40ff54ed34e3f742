"""The framework of rules: base classes and helpers that all rules share.

A new rule uses the framework and need not change it.
"""
