"""Small faults put into both programs, one at a time: whether the tests notice them (`make mutants`)."""
