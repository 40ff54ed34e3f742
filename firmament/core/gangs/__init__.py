"""The life of gangs: who is tried, what is missing, when one is given up."""
