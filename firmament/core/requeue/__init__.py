"""Tasks that found no place: when they are tried again, and what they could take meanwhile."""
