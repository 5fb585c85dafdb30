"""The servers that tests and `manage.py up` bring: Postgres with pgvector, and a Valkey without harmful commands."""

import pytest
from django.db import connection


@pytest.mark.django_db
def test_the_database_knows_vectors() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        cursor.execute("SELECT '[1,2]'::vector <-> '[1,4]'::vector")

        assert cursor.fetchone() == (2.0,)
