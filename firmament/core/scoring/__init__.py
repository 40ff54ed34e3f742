"""What cost models and preferences say of shapes on machines, as costs of arcs."""
