"""Measures how much one tenant's most expensive pods delay the pods of other tenants."""
