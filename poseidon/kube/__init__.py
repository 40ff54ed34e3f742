"""The API server: its objects, how it is reached, watched and written to."""
