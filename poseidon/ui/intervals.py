"""How often the dashboard reads what it shows, and updates the page; all times are in seconds."""

PUBLISH_SECONDS = 1.0
"""Time between two updates that the server sends to open pages."""

COMMENT_SECONDS = 15.0
"""If the server has sent no update for so long, it sends a comment, so that proxies keep the stream of updates open."""

POLL_SECONDS = 2.0
"""Time between two questions to the solver and the bridge, while somebody looks at the page."""

REST_SECONDS = 10.0
"""Time between two questions to the solver and the bridge, while nobody looks at the page."""

FLOW_SECONDS = 1.5
"""Least time between two questions to the solver for the flow of a round, if a newer round has run."""

FLOW_INTEREST_SECONDS = 20.0
"""Longest time between two questions for a flow; solvers keep large flows only while somebody asks regularly."""

USE_SECONDS = 30.0
"""Time between two readings of the measured use of nodes."""

LEASE_SECONDS = 10.0
"""Time between two readings of the Lease that names the leading bridge."""

CONFIGURATION_SECONDS = 60.0
"""Time between two readings of the load thresholds in the solver's configuration."""

SAMPLE_SECONDS = 10.0
"""Time between two points of the charts of figures over time."""

QUEUES_SECONDS = 15.0
"""Least time between two descriptions of a live cluster's queues."""

QUEUES_SHARE = 10.0
"""Pause between descriptions of queues, as a multiple of the last one's duration: they then take a tenth of a core."""
