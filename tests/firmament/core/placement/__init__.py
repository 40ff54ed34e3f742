"""Admission, passes and priority bands."""
