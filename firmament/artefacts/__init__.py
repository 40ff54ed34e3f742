"""Rounds as files: what is written of each on demand, and how a written one is run again.

Sans-I/O: everything here turns objects into named bytes and back. Who wants files on a disk writes them.
"""
