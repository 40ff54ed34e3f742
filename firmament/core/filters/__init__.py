"""Which machines a shape may use, and why not the others."""
