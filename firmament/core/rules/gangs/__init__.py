"""The life of gangs: decides which gangs a round tries, what they lack, and when the solver gives up a gang."""
