"""Which stages' model calls people watch while they are written (S138). The others show only that they run."""

STREAMING_CONFIG = {
    "write": True,
    "finalize": True,
    "summarize": True,
    "agent": True,
    "synthesize": True,
    "generate": False,
    "outline": False,
    "analyze": False,
    "router": False,
    "tools": False,
    "search_agent": False,
    "search_tools": False,
    "title": False,
}

STREAMED = frozenset(stage for stage, streams in STREAMING_CONFIG.items() if streams)
