"""The pages of notices in a real browser: wide and narrow, light and dark, by axe's rules."""

from typing import Any

import pytest

from hyperagent.notices import actions
from hyperagent.notices.kinds import EventType
from hyperagent.notices.models import Delivery
from tests.accounts.test_in_a_browser import browser, open_page, sign_in
from tests.clean_page import faults_of

__all__ = ["browser", "open_page"]
LONG = "https://hooks.example.org/" + "a-path-without-any-end/" * 6


@pytest.mark.slow
@pytest.mark.spec("B22")
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_page_is_clean_at_this_width_and_scheme(bob: Any, open_page: Any, width: int, scheme: str) -> None:
    endpoint, _ = actions.add_endpoint(bob, url=LONG, events=["run.completed", "run.failed"])
    actions.add_endpoint(None, url="https://example.org/hooks", events=["approval.requested"])
    for number, status in enumerate(("pending", "failed", "delivered", "given_up")):
        subject = f"{number}"
        actions.emit(EventType.RUN_FAILED, user_id=bob.pk, subject_id=subject, payload={}, title="A title " * 12)
        Delivery.objects.filter(status="pending").update(
            status=status, last_error="Answered 500. " * 8, response_head="x" * 500, last_status_code=500, attempts=3
        )
    page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    sign_in(page, bob.email)

    paths = ["webhooks/", f"webhooks/{endpoint.pk}/", "notifications/"]
    faults = {path: faults_of(page, f"../settings/{path}") for path in paths}

    assert faults == {path: [] for path in paths}
