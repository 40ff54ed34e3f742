"""Other ways to place the tasks of a round, on the same snapshot, judged by the same cost."""
