"""Waiting tasks: which take part in which round, when they are tried again, and which places they could take
meanwhile.
"""
