"""Evictions that the solver asks for: reviewed first, then begun and withdrawn."""
