"""The views, as plain values for JSON: pure functions of what the dashboard knows."""
