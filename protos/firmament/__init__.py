"""Protocol packages of the solver."""
