"""The statements by which budgets are held: what holds for a person, reserving for a call, settling it. For Postgres.

Each is one short statement in a transaction of its own, for the installation's purse is one row that every call of
every run changes. Purses are locked in the order of their ids, so that no two statements wait for each other.
"""

from typing import Final

# Nobody's answer waits for the disk: what a crash of the server takes of these is in the ledger, which `RECOUNT` reads.
_QUICK: Final = "quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))"

# What the settings give, one row for each period and unit.
_USUAL: Final = """usual AS (
    SELECT * FROM unnest(%(periods)s::text[], %(units)s::text[], %(user_amounts)s::numeric[],
                         %(installation_amounts)s::numeric[]) AS u(period, unit, user_amount, installation_amount)
)"""
_CLOCK: Final = "clock AS (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS today)"


def _starts(period: str) -> str:
    """The day on which what this column names began. Of `_CLOCK`."""
    return f"CASE {period} WHEN 'day' THEN clock.today ELSE date_trunc('month', clock.today)::date END"


# What holds for a person (%(user)s, or NULL for what all together may use): their own amounts, else what is set for
# everybody; those of each of their groups; the installation's. `purse` is NULL where nothing was counted yet.
_AMOUNTS: Final = """
amounts AS (
    SELECT 'user:' || %(user)s::text AS whose, '' AS name, u.period, u.unit, coalesce(
        (SELECT b.amount FROM accounts_budget b
         WHERE b.whose = 'user' AND b.user_id = %(user)s AND b.period = u.period AND b.unit = u.unit),
        (SELECT b.amount FROM accounts_budget b
         WHERE b.whose = 'everybody' AND b.period = u.period AND b.unit = u.unit),
        u.user_amount) AS amount
    FROM usual u WHERE %(user)s::uuid IS NOT NULL
    UNION ALL
    SELECT 'group:' || b.group_id, g.name, b.period, b.unit, b.amount
    FROM accounts_budget b JOIN accounts_user_groups m ON m.group_id = b.group_id JOIN auth_group g ON g.id = b.group_id
    WHERE b.whose = 'group' AND m.user_id = %(user)s
    UNION ALL
    SELECT 'installation', '', u.period, u.unit, coalesce(
        (SELECT b.amount FROM accounts_budget b
         WHERE b.whose = 'installation' AND b.period = u.period AND b.unit = u.unit),
        u.installation_amount)
    FROM usual u
)"""
_STANDING: Final = f"""
SELECT a.whose, a.name, a.period, a.unit, a.amount,
       CASE a.unit WHEN 'usd' THEN coalesce(p.used_usd, 0) ELSE coalesce(p.used_tokens, 0) END AS used,
       CASE a.unit WHEN 'usd' THEN coalesce(p.held_usd, 0) ELSE coalesce(p.held_tokens, 0) END AS reserved,
       {_starts("a.period")} AS starts,
       coalesce(p.unpriced_calls, 0) AS unpriced_calls, p.id AS purse_id
FROM clock CROSS JOIN amounts a LEFT JOIN accounts_purse p
  ON p.whose = a.whose AND p.period = a.period AND p.starts = {_starts("a.period")}
WHERE a.amount > 0 ORDER BY a.whose DESC, a.period, a.unit
"""
STANDING: Final = f"WITH {_USUAL}, {_CLOCK}, {_AMOUNTS} {_STANDING}"

# The same for whoever shares a purse: those that are counted already, for alerts and for administrators.
ALL_STANDING: Final = f"""
WITH {_USUAL}, {_CLOCK}
SELECT p.whose, coalesce(g.name, '') AS name, p.period, u.unit,
       coalesce(own.amount, every.amount,
                CASE WHEN p.whose LIKE 'user:%%' THEN u.user_amount
                     WHEN p.whose = 'installation' THEN u.installation_amount END, 0) AS amount,
       CASE u.unit WHEN 'usd' THEN p.used_usd ELSE p.used_tokens END AS used,
       CASE u.unit WHEN 'usd' THEN p.held_usd ELSE p.held_tokens END AS reserved, p.starts, p.unpriced_calls,
       p.id AS purse_id, CASE u.unit WHEN 'usd' THEN p.told_usd ELSE p.told_tokens END AS told
FROM accounts_purse p CROSS JOIN clock JOIN usual u ON u.period = p.period
LEFT JOIN accounts_budget own
  ON own.period = p.period AND own.unit = u.unit
 AND own.whose = split_part(p.whose, ':', 1)
 AND (own.whose = 'installation' OR coalesce(own.user_id::text, own.group_id::text) = split_part(p.whose, ':', 2))
LEFT JOIN accounts_budget every
  ON every.whose = 'everybody' AND every.period = p.period AND every.unit = u.unit AND p.whose LIKE 'user:%%'
LEFT JOIN auth_group g ON p.whose = 'group:' || g.id
WHERE p.starts = {_starts("p.period")}
"""

IS_ANY_SET: Final = "SELECT EXISTS (SELECT FROM accounts_budget WHERE amount > 0)"

OPEN: Final = """
INSERT INTO accounts_purse (whose, period, starts, used_usd, used_tokens, held_usd, held_tokens, unpriced_calls,
                            told_usd, told_tokens)
SELECT DISTINCT w.whose, w.period, w.starts, 0, 0, 0, 0, 0, 0, 0
FROM unnest(%(whose)s::text[], %(periods)s::text[], %(starts)s::date[]) AS w(whose, period, starts)
ON CONFLICT (whose, period, starts) DO NOTHING
RETURNING id
"""

# What the ledger has of a purse's time and is not in it: what was used before the budget was set, and what was lost.
# What is settled and not moved yet is in the ledger already, and is left to `MOVE`. Never lowers what was counted.
RECOUNT: Final = """
WITH counted AS (
    SELECT p.id, coalesce(sum(c.cost_usd), 0) AS usd, coalesce(sum(c.prompt_tokens + c.completion_tokens), 0) AS tokens,
           count(*) FILTER (WHERE c.step_id IS NOT NULL AND c.cost_usd IS NULL) AS unpriced
    FROM accounts_purse p LEFT JOIN LATERAL (
        SELECT m.step_id, m.cost_usd, m.prompt_tokens, m.completion_tokens FROM agents_modelcall m
        WHERE p.whose = 'installation' AND m.at >= p.starts::timestamp AT TIME ZONE 'UTC'
          AND m.at < (p.starts + ('1 ' || p.period)::interval) AT TIME ZONE 'UTC'
        UNION ALL
        SELECT m.step_id, m.cost_usd, m.prompt_tokens, m.completion_tokens FROM agents_modelcall m
        WHERE m.user_id = CASE WHEN p.whose LIKE 'user:%%' THEN substr(p.whose, 6)::uuid END
          AND m.at >= p.starts::timestamp AT TIME ZONE 'UTC'
          AND m.at < (p.starts + ('1 ' || p.period)::interval) AT TIME ZONE 'UTC'
        UNION ALL
        SELECT m.step_id, m.cost_usd, m.prompt_tokens, m.completion_tokens
        FROM accounts_user_groups g JOIN agents_modelcall m ON m.user_id = g.user_id
        WHERE g.group_id = CASE WHEN p.whose LIKE 'group:%%' THEN substr(p.whose, 7)::int END
          AND m.at >= p.starts::timestamp AT TIME ZONE 'UTC'
          AND m.at < (p.starts + ('1 ' || p.period)::interval) AT TIME ZONE 'UTC'
    ) c ON true
    WHERE p.id = ANY(%(purses)s) GROUP BY p.id
), pending AS (
    SELECT purse_id AS id, sum(h.settled_usd) AS usd, sum(h.settled_tokens) AS tokens,
           count(*) FILTER (WHERE h.is_unpriced) AS unpriced
    FROM accounts_hold h CROSS JOIN unnest(h.purses) AS purse_id WHERE h.settled_at IS NOT NULL GROUP BY 1
), locked AS (
    SELECT p.id FROM accounts_purse p WHERE p.id = ANY(%(purses)s) ORDER BY p.id FOR NO KEY UPDATE
)
UPDATE accounts_purse p
SET used_usd = greatest(p.used_usd, c.usd - coalesce(w.usd, 0)),
    used_tokens = greatest(p.used_tokens, c.tokens - coalesce(w.tokens, 0)),
    unpriced_calls = greatest(p.unpriced_calls, c.unpriced - coalesce(w.unpriced, 0))
FROM locked JOIN counted c ON c.id = locked.id LEFT JOIN pending w ON w.id = locked.id
WHERE p.id = locked.id
"""

# All limits at once or none. Without `execution_id` it is the call of no run: one of the embedder's. `is_held`: by this
# call now; `is_ours`: the run's lease is still that of the caller;
# `is_known`: it was held by this call before, so the first answer was lost on its way; `is_whole`: no purse is gone.
RESERVE: Final = f"""
WITH {_QUICK}, asked AS (
    SELECT * FROM unnest(%(purses)s::bigint[], %(most_usd)s::numeric[], %(most_tokens)s::numeric[])
        AS a(id, most_usd, most_tokens)
), locked AS (
    SELECT p.id, p.used_usd + p.held_usd AS usd, p.used_tokens + p.held_tokens AS tokens
    FROM accounts_purse p WHERE p.id = ANY(%(purses)s) ORDER BY p.id FOR NO KEY UPDATE
), verdict AS (
    SELECT count(*) = cardinality(%(purses)s::bigint[]) AS is_whole,
           coalesce(bool_and((a.most_usd IS NULL OR l.usd + %(usd)s::numeric <= a.most_usd)
                         AND (a.most_tokens IS NULL OR l.tokens + %(tokens)s::bigint <= a.most_tokens)), true) AS fits,
           min(a.most_usd - l.usd) AS usd_left, min(a.most_tokens - l.tokens) AS tokens_left
    FROM asked a JOIN locked l USING (id)
), ours AS (
    SELECT %(execution_id)s::uuid IS NULL
           OR EXISTS (SELECT FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s
                      AND e.status = 'running') AS is_ours
), held AS (
    INSERT INTO accounts_hold (call_id, execution_id, epoch, purses, usd, tokens, is_unpriced, made_at)
    SELECT %(call_id)s, %(execution_id)s::uuid, %(epoch)s, %(purses)s::bigint[], %(usd)s::numeric, %(tokens)s::bigint,
           %(is_unpriced)s, clock_timestamp()
    FROM verdict, ours, quick WHERE is_ours AND is_whole AND fits
    ON CONFLICT (call_id) DO NOTHING
    RETURNING call_id
), moved AS (
    UPDATE accounts_purse p
    SET held_usd = p.held_usd + %(usd)s::numeric, held_tokens = p.held_tokens + %(tokens)s::bigint
    FROM held WHERE p.id = ANY(%(purses)s)
    RETURNING p.id
)
SELECT EXISTS (SELECT FROM held) AS is_held, is_ours, is_whole,
       EXISTS (SELECT FROM accounts_hold h WHERE h.call_id = %(call_id)s) AS is_known, usd_left, tokens_left,
       (SELECT count(*) FROM moved) AS moved
FROM verdict, ours
"""

# In the transaction that records the step and its row in the ledger: what is counted is what is recorded. A row of its
# own, for which nobody else waits. Fenced by the epoch like all that a driver writes.
SETTLE: Final = """
UPDATE accounts_hold h SET settled_usd = %(usd)s::numeric, settled_tokens = %(tokens)s::bigint,
       is_unpriced = %(is_unpriced)s, settled_at = clock_timestamp()
WHERE h.call_id = %(call_id)s AND h.settled_at IS NULL AND h.epoch = %(epoch)s
  AND (h.execution_id IS NULL
       OR EXISTS (SELECT FROM agents_execution e WHERE e.id = %(execution_id)s AND e.epoch = %(epoch)s))
"""

# Moves what is settled into all purses at once: whoever comes first takes it, and nobody twice.
MOVE: Final = f"""
WITH {_QUICK}, done AS (
    DELETE FROM accounts_hold WHERE call_id IN (
        SELECT h.call_id FROM accounts_hold h, quick WHERE h.settled_at IS NOT NULL
        ORDER BY h.call_id LIMIT 500 FOR UPDATE OF h SKIP LOCKED)
    RETURNING purses, usd, tokens, settled_usd, settled_tokens, is_unpriced
), sums AS (
    SELECT purse_id AS id, sum(d.usd) AS held_usd, sum(d.tokens) AS held_tokens, sum(d.settled_usd) AS usd,
           sum(d.settled_tokens) AS tokens, count(*) FILTER (WHERE d.is_unpriced) AS unpriced
    FROM done d CROSS JOIN unnest(d.purses) AS purse_id GROUP BY 1
), locked AS (
    SELECT p.id FROM accounts_purse p WHERE p.id IN (SELECT id FROM sums) ORDER BY p.id FOR NO KEY UPDATE
), moved AS (
    UPDATE accounts_purse p
    SET used_usd = p.used_usd + s.usd, used_tokens = p.used_tokens + s.tokens, held_usd = p.held_usd - s.held_usd,
        held_tokens = p.held_tokens - s.held_tokens, unpriced_calls = p.unpriced_calls + s.unpriced
    FROM locked JOIN sums s ON s.id = locked.id WHERE p.id = locked.id
    RETURNING p.id
)
SELECT (SELECT count(*) FROM done), (SELECT count(*) FROM moved)
"""

# What calls had reserved whose driver is gone: the run is another's by now, or nobody's, or it is one of no run's and
# lasts longer than any. What they took, nobody knows.
FREE: Final = f"""
WITH {_QUICK}, dead AS (
    SELECT h.call_id FROM accounts_hold h, quick
    WHERE h.settled_at IS NULL AND CASE WHEN h.execution_id IS NULL
        THEN h.made_at < clock_timestamp() - interval '10 minutes'
        ELSE NOT EXISTS (
            SELECT FROM agents_execution e WHERE e.id = h.execution_id AND e.epoch = h.epoch AND e.status = 'running')
        END
    ORDER BY h.call_id FOR UPDATE OF h SKIP LOCKED
)
UPDATE accounts_hold h SET settled_usd = 0, settled_tokens = 0, is_unpriced = false, settled_at = clock_timestamp()
FROM dead WHERE h.call_id = dead.call_id AND h.settled_at IS NULL
"""

TELL: Final = """
UPDATE accounts_purse SET {column} = %(percent)s WHERE id = %(purse)s AND {column} < %(percent)s
"""
FORGET: Final = "DELETE FROM accounts_purse WHERE starts < (clock_timestamp() AT TIME ZONE 'UTC')::date - 400"
