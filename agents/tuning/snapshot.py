"""The tuning that a run goes by: taken in the statement that claims it for the first time, kept by every later one. So
a replay asks what was asked, whatever administrators have changed since.
"""

from collections.abc import Mapping
from typing import Any, Final

from agents.tuning.values import Tuning

VERSION: Final = 1

# No row, and so NULL, where nobody tunes anything.
_TAKEN: Final = f"""(
    SELECT jsonb_build_object('version', {VERSION}, 'agents', jsonb_object_agg(t.agent, jsonb_strip_nulls(
        jsonb_build_object('model', nullif(t.model, ''), 'tier', nullif(t.tier, ''), 'temperature', t.temperature,
                           'timeout_s', t.timeout_s, 'max_retries', t.max_retries, 'approval', nullif(t.approval, ''))
    ))) FROM agents_agenttuning t HAVING count(*) > 0
)"""


def taken_or_kept(run: str) -> str:
    """SQL: what becomes of the column of the run, which `run` is in the query, when it is claimed. A run that was begun
    by other code than this was begun without."""
    return f"CASE WHEN {run}.epoch = 0 AND {run}.tuning IS NULL THEN {_TAKEN} ELSE {run}.tuning END"


def kept_in_copy(stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """For a run that goes on with another's journal, and takes nothing of its own."""
    return dict(stored or {})


def tunings_of(stored: Mapping[str, Any] | None) -> dict[str, Tuning]:
    """By the agents' names."""
    return {agent: Tuning.model_validate(chosen) for agent, chosen in (stored or {}).get("agents", {}).items()}
