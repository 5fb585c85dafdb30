"""Whether a person has any connected servers, as SQL."""


def has_servers(user: str) -> str:
    """Whether any server may have tools for runs of the person whose id this is, as `ServerQuerySet.of_runs_of`."""
    return f"EXISTS (SELECT FROM agents_mcpserver WHERE enabled AND (owner_id IS NULL OR owner_id = {user}))"
