"""Makes the views, as plain values for JSON, by pure functions of what the dashboard knows."""
