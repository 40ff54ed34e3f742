"""The life of gangs: decides which gangs a round tries, what they lack, and when a gang is given up."""
