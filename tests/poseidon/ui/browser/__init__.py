"""The dashboard's page in a real browser, against a server with made-up data that obeys the contract."""
