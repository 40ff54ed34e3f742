"""How much one tenant's most expensive pods delay those of others."""
