"""Which search service an installation uses: the one that SEARCH_PROVIDER names, else the first that is configured,
Tavily before SearXNG. The keyless one is taken only where it is named: nobody's questions go to search engines unasked.
"""

from agents.web.found import SearchService
from agents.web.keyless import Keyless
from agents.web.searxng import SearXNG
from agents.web.tavily import Tavily
from hyperagent.lib.conf import Config, SearchProvider


def service_of(config: Config) -> SearchService | None:
    """Connects to nothing. None if none is configured."""
    chosen = config.search_provider
    has_key = bool(config.tavily_api_key.get_secret_value())
    if chosen is SearchProvider.TAVILY or (chosen is None and has_key):
        return Tavily(config.tavily_api_key, config.tavily_base_url)
    if chosen is SearchProvider.SEARXNG or (chosen is None and config.searxng_url):
        return SearXNG(config.searxng_url)
    return Keyless() if chosen is SearchProvider.DDGS else None
