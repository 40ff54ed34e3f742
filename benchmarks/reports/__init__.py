"""Shows results as tables, pages and plots."""
