"""How often the dashboard reads what it shows, and refreshes the page: all in seconds."""

PUBLISH_SECONDS = 1.0
"""Between two updates that the server sends to the pages that are open."""

COMMENT_SECONDS = 15.0
"""After so long without an update, a comment tells proxies that the stream of updates is alive."""

POLL_SECONDS = 2.0
"""Between two questions to the solver and the bridge, while somebody looks at the page."""

REST_SECONDS = 10.0
"""The same, while nobody looks."""

FLOW_SECONDS = 1.5
"""Least time between two questions for the flow of a round, if there is a newer round."""

FLOW_INTEREST_SECONDS = 20.0
"""Longest time between two questions for a flow: solvers keep large flows only for those who ask regularly."""

USE_SECONDS = 30.0
"""Between two readings of the measured use of nodes."""

LEASE_SECONDS = 10.0
"""Between two readings of the Lease that names the leading bridge."""

CONFIGURATION_SECONDS = 60.0
"""Between two readings of the load thresholds in the solver's configuration."""

SAMPLE_SECONDS = 10.0
"""Between two points of the figures over time."""

QUEUES_SECONDS = 15.0
"""Least time between two descriptions of the queues of a live cluster."""

QUEUES_SHARE = 10.0
"""Queues are described again after so many times the time that the last description took: with a tenth of a core."""
