"""The rule about groups whose tasks are distributed over a tree of machines: compilation, revalidation, explanation."""
