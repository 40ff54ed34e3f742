"""Forecasts when waiting tasks will start: what is learnt of the past, and simulations of possible futures."""
