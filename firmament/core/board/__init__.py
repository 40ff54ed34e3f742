"""What still fits while a round's tasks are placed: one board of room, limits and rules between tasks."""
