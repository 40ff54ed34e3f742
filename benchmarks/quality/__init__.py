"""Measures how good placements are, compared with other ways to place."""
