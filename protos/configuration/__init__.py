"""The configuration file that both programs read: its sections, its defaults, and the messages about its errors."""
