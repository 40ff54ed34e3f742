"""Amounts: the columns that resources have in every array, what shapes request of them, sums that saturate."""
