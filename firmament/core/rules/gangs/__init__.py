"""The life of gangs: which are tried, what they lack, and when one is given up."""
