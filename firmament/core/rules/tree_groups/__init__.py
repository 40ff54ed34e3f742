"""Groups whose tasks share out over a tree of machines: compilation, revalidation, explanation."""
