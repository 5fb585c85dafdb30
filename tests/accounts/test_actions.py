"""The verbs at their edges: registrations that meet, and what follows."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from hyperagent.accounts import actions
from hyperagent.accounts.models import User
from tests.accounts.conftest import PASSWORD


def test_of_two_registrations_of_one_address_at_once_one_is_made(together: Callable[..., list[Any]]) -> None:
    def register() -> str:
        try:
            return str(actions.register("dora@example.org", PASSWORD).pk)
        except ValidationError as error:
            return str(error.message_dict["email"][0])

    answers = together(register, times=4)

    assert User.objects.count() == 1
    assert sum("cannot be registered" in answer for answer in answers) == 3


@pytest.mark.django_db
def test_two_spellings_of_an_address_cannot_both_be_made() -> None:
    actions.register("dora@example.org", PASSWORD)

    with pytest.raises(ValidationError, match="cannot be registered"):
        actions.register("DORA@example.org", PASSWORD)
