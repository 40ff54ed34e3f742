"""How good placements are, beside what other ways of placing reach."""
