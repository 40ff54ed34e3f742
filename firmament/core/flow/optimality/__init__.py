"""From a flow to an optimal one: node prices, pricing of what was left out, repair."""
