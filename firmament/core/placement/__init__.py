"""One round: solve, admit, repeat, until every task is placed or provably has no place."""
