"""The event log and the journal, for everybody but the driver that writes them.

`reading` and `following` give the log by number and as it is announced; `results`, `agent_reading`, `agent_history` and
`plan_reading` what it and the journal know of tools, agents and plans. `shapes`, `older_shapes` and `event_schema` are
how runs look to others. `partitions`, `folding`, `log_retention` and `blanking` are how the rows lie, and how long.
"""
