"""Checks incoming events and reports of bindings as a whole, then applies them."""
