"""Measures whole rounds of the core alone, by their content."""
