"""What the product stands on is what it says: installed as `pyproject.toml` asks for it, and in use."""

import tomllib
from importlib.metadata import version
from typing import Any, get_args

import pytest
from django.db import connection
from packaging.requirements import Requirement
from pydantic import BaseModel

from agents.craft.exchange import AgentInput, AgentOutput
from agents.engine.events import EventBody, body_adapter
from agents.pipeline.plans import Plan
from hyperagent.lib.announcing import client
from hyperagent.lib.conf import BASE_DIR

pytestmark = pytest.mark.spec("S209")
NAMED = (
    "django", "channels", "channels-redis", "djangorestframework", "django-q2", "psycopg", "pgvector", "redis",
    "litellm", "pydantic",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_what_is_installed_is_what_the_product_asks_for(name: str) -> None:
    asked = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["dependencies"]

    (wanted,) = [one for one in map(Requirement, asked) if one.name == name]

    assert version(name) in wanted.specifier


def test_it_is_the_django_of_long_support_and_its_apps_that_serve(settings: Any) -> None:
    assert version("django").startswith("5.2.")
    assert {"channels", "rest_framework", "django_q"} <= set(settings.INSTALLED_APPS)


@pytest.mark.django_db
def test_the_database_is_postgres_with_vectors_that_the_migrations_brought() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extname FROM pg_extension WHERE extname = 'vector'")
        extension = cursor.fetchone()

    assert (connection.vendor, extension) == ("postgresql", ("vector",))


def test_announcements_go_through_redis(settings: Any) -> None:
    assert settings.CHANNEL_LAYERS["default"]["BACKEND"].startswith("channels_redis.")
    assert client().ping()


def test_events_are_frozen_pydantic_models_that_take_nothing_they_do_not_know() -> None:
    union, *_ = get_args(EventBody)
    kinds = get_args(union)

    assert len(kinds) > 20
    for kind in kinds:
        assert issubclass(kind, BaseModel)
        assert kind.model_config.get("frozen"), kind
        assert kind.model_config.get("extra") == "forbid", kind
    assert set(body_adapter.json_schema()["discriminator"]["mapping"]) == {
        kind.model_fields["type"].default for kind in kinds
    }


@pytest.mark.parametrize("state", [AgentInput, AgentOutput, Plan])
def test_what_a_run_keeps_of_its_state_is_a_pydantic_model(state: type[BaseModel]) -> None:
    assert issubclass(state, BaseModel)
    assert state.model_json_schema()["properties"]
