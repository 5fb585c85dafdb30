"""The verbs that no page shows: the first administrator, and registrations that meet."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from hyperagent.accounts import actions
from hyperagent.accounts.models import User
from tests.accounts.conftest import PASSWORD


@pytest.mark.django_db
def test_the_first_administrator_gets_a_password_of_their_own_that_is_told_once() -> None:
    user, generated = actions.create_first_administrator(None, None)

    assert generated is not None
    assert len(generated) >= 20
    assert user.check_password(generated)
    assert (user.email, user.is_staff, user.is_superuser) == ("admin@localhost", True, True)


@pytest.mark.django_db
def test_the_operator_may_name_the_first_administrator() -> None:
    user, generated = actions.create_first_administrator("root@example.org", "chosen by the operator")

    assert generated is None
    assert user.email == "root@example.org"
    assert user.check_password("chosen by the operator")


@pytest.mark.django_db
def test_the_second_start_changes_nothing() -> None:
    first, generated = actions.create_first_administrator(None, None)

    again, nothing = actions.create_first_administrator("other@example.org", "another password")

    assert (again, nothing) == (first, None)
    assert again.check_password(generated or "")
    assert User.objects.count() == 1


def test_rights_never_come_with_a_password_that_a_stranger_chose(alice: Any) -> None:
    user, generated = actions.create_first_administrator("Alice@example.org", None)

    assert user.pk == alice.pk
    assert user.is_superuser
    assert not user.check_password(PASSWORD)
    assert user.check_password(generated or "")


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
