"""Long jobs of the dashboard, which a separate process does one after another."""
