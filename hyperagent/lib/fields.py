"""Column types that Django does not have."""

from typing import Any

from django.db import models
from psycopg.types.json import Json


class ExactJSONField(models.JSONField):
    """JSON kept as the text that was written (Postgres `json`): the order of keys and the form of numbers stay.

    `jsonb` sorts keys and turns 1e22 into an integer, so a value would come back other than it went in.
    """

    def db_type(self, connection: Any) -> str:
        return "json"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value  # psycopg has read it: Django tells it not to for `jsonb` only

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return value if value is None or hasattr(value, "as_sql") else Json(value)
