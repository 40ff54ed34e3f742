"""What a round's flow came to, for people: who went where, at what price, and what kept the others away."""
