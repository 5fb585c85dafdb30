"""What a form is told when its verb refuses."""

from typing import Any

import pytest
from django import forms
from django.contrib.messages import get_messages
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.test import RequestFactory

from hyperagent.lib.refusals import Conflict, NotThere, Refused, TooMuch
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold


class TypedForm(forms.Form):
    name = forms.CharField()
    ends_on = forms.CharField()


class Page(RefusableForm):
    form_class = TypedForm
    at = {"expires_at": "ends_on"}
    refusal: Any = None

    def act(self, form: TypedForm) -> HttpResponse:
        raise self.refusal

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        self.told = context["form"].errors
        return HttpResponse(**kwargs)


def sent(refusal: Exception, **typed: str) -> tuple[HttpResponse, Any]:
    page = Page(refusal=refusal)
    page.setup(RequestFactory().post("/", {"name": "x", "ends_on": "y", **typed}))
    answer = page.dispatch(page.request)
    assert isinstance(answer, HttpResponse)
    return answer, page.told


@pytest.mark.parametrize(
    "refusal",
    [
        Conflict("no", "x", fields={"name": ["Taken."], "expires_at": ["Past."], "events": ["None."]}),
        ValidationError({"name": ["Taken."], "expires_at": ["Past."], "events": ["None."]}),
    ],
)
def test_each_fault_stands_at_its_field_and_what_has_none_above_the_form(refusal: Exception) -> None:
    answer, told = sent(refusal)

    assert told == {"name": ["Taken."], "ends_on": ["Past."], "__all__": ["None."]}
    assert answer.status_code == getattr(refusal, "status", 400)


def test_a_refusal_of_no_field_is_told_above_the_form_with_when_to_come_back() -> None:
    answer, told = sent(TooMuch("often", "That was often.", retry_after_s=7))

    assert told == {"__all__": ["That was often."]}
    assert (answer.status_code, answer["Retry-After"]) == (429, "7")


def test_a_form_that_is_not_valid_asks_no_verb() -> None:
    answer, told = sent(AssertionError("the verb was called"), name="")

    assert list(told) == ["name"]
    assert answer.status_code == 400


def test_what_is_not_there_is_no_fault_of_the_form() -> None:
    with pytest.raises(Http404):
        sent(NotThere())


def test_a_button_says_what_is_refused_and_nothing_else() -> None:
    request: HttpRequest = RequestFactory().post("/")
    request._messages = CookieStorage(request)  # type: ignore[attr-defined]

    with RefusalsTold(request):
        raise Refused("no", "It is on its way.")

    assert [(one.level_tag, one.message) for one in get_messages(request)] == [("error", "It is on its way.")]
    with pytest.raises(Http404), RefusalsTold(request):
        raise NotThere
