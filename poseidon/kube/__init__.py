"""The API server: its objects, and the code that reaches, watches and writes them."""
