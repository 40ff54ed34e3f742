"""The room that is left while a round's tasks are placed: one board for room, limits and rules between tasks."""
