"""Turns the answers of cost models and preferences into costs of arcs in the flow network."""
