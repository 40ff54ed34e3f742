"""Costs by the prices of machines."""
