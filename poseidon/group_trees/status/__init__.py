"""What is written of groups and their pods."""
