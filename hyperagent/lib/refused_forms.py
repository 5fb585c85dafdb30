"""What a page says where a verb refuses: of a form at its fields, of a button at the top of the next page. A form is
answered with the status of the refusal, and with 400 where it is not valid in itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.views.generic import FormView
from django.views.generic.base import TemplateResponseMixin
from django.views.generic.edit import FormMixin

from hyperagent.lib.api import retry_after
from hyperagent.lib.refusals import NotThere, Refused


class Refusable(TemplateResponseMixin, FormMixin):  # type: ignore[type-arg]
    """A view of a form whose verb may refuse, with Refused or with a model's ValidationError."""

    http_method_names: Sequence[str] = ("get", "head", "post", "options")
    at: ClassVar[Mapping[str, str]] = {}
    """The form's names of fields that the verb calls otherwise; of "", where what is of no field is told."""

    def act(self, form: Any) -> HttpResponse:
        """Calls the verb. The form is valid."""
        raise NotImplementedError

    def field_of(self, form: Any, name: str) -> str:
        return self.at.get(name, name)

    def form_valid(self, form: BaseForm) -> HttpResponse:
        try:
            return self.act(form)
        except NotThere:
            raise Http404 from None
        except Refused as refused:
            self._tell(form, refused.fields or {"": [refused.message]})
            return self._again(form, status=refused.status, headers=retry_after(refused))
        except ValidationError as error:
            self._tell(form, error.message_dict if hasattr(error, "error_dict") else {"": error.messages})
            return self.form_invalid(form)

    def form_invalid(self, form: BaseForm) -> HttpResponse:
        return self._again(form, status=400)

    def _tell(self, form: BaseForm, faults: Mapping[str, list[str]]) -> None:
        """Each at its field; above the form, where it has no such field."""
        for name, said in faults.items():
            field = self.field_of(form, name)
            form.add_error(field if field in form.fields else None, said)

    def _again(self, form: BaseForm, **answer: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), **answer)


class RefusableForm(Refusable, FormView):  # type: ignore[type-arg]
    pass


@dataclass(frozen=True, slots=True)
class RefusalsTold:
    """Around the verb of a button, and what is said when it is done. What is refused is said in its place."""

    request: HttpRequest

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, NotThere):
            raise Http404 from None
        if isinstance(error, Refused):
            messages.error(self.request, error.message)
            return True
        return False
