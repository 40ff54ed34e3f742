"""Groups on trees: the solver against exhaustive search, worked examples, sizes."""
