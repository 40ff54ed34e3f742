"""Objects that no decent person would write, and the bridge and the solver that have to live with them."""
