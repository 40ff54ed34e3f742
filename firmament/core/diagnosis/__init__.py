"""Why tasks wait, what a task may use, how things stand: answers for people."""
