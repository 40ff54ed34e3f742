"""HTTP: who may ask, what is answered, and how much of it at a time."""
