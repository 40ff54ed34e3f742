"""Charges tasks for the prices of machines."""
