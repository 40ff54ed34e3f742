"""Compiles what tasks, models and groups say about each other into arrays over machines and domains."""
