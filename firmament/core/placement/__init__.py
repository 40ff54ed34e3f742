"""Places a round's tasks: solves and admits repeatedly, until every task is placed or provably has no place."""
