"""Other ways to place the tasks of a round, on the same picture, judged by the same cost."""
