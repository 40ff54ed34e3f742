"""The dashboard over HTTP: who may ask, what is answered, and how much at a time."""
