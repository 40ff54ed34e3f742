"""Who asks, and what roles allow: bearer tokens of service accounts, and role-based access control."""
