"""Objects behind the API: how they are stored, checked, changed and selected."""
