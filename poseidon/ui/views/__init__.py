"""Makes the dashboard's views as values for JSON, by functions that only read what the dashboard knows."""
