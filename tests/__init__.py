"""The test suite; support code shared by several parts stands in ``tests.support``."""
