"""Lists of the admin that stay quick on a million rows: nothing is counted to its end, no page lies too deep, a search
asks indexes only, and a column sorts only where an index does. What the lists are of is not known here.
"""

import json
import uuid
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth import get_user_model
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import FieldDoesNotExist
from django.core.paginator import EmptyPage, Page, Paginator
from django.db import connection, models
from django.db.models import Q, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from hyperagent.lib.languages import grouped

PER_PAGE = 50
EXACT_UP_TO = 1_000
"""So many rows are counted; the number of more is the planner's estimate."""
DEEPEST = 10_000
"""The last row that a page reaches: the database walks through all rows before it."""
PEOPLE_FOUND = 50
_MOST_DIGITS = 18


class QuickPaginator(Paginator):  # type: ignore[type-arg]
    """`count` is how many rows the pages reach, `told` how many there are, in words."""

    @cached_property
    def _some(self) -> int:
        rows = self.object_list
        assert isinstance(rows, QuerySet)
        return int(rows.order_by()[: EXACT_UP_TO + 1].count())

    @cached_property
    def _about(self) -> int:
        return self._some if self._some <= EXACT_UP_TO else max(self._some, estimated_rows(self.object_list))

    @cached_property
    def count(self) -> int:
        return min(self._about, DEEPEST)

    @property
    def told(self) -> str:
        if self._some <= EXACT_UP_TO:
            return grouped(self._some)
        about = self._about
        return (
            _("more than {count}").format(count=grouped(EXACT_UP_TO))
            if about <= 2 * EXACT_UP_TO
            else f"≈ {grouped(about)}"
        )

    def validate_number(self, number: float | str) -> int:
        """Whoever asks for more gets the last page, which says why there are no more."""
        try:
            return super().validate_number(number)
        except EmptyPage:
            return max(1, min(int(number), self.num_pages))

    def page(self, number: int | str) -> Page[Any]:
        """First the keys, then their rows: to sort whole rows, with all that they join, takes several times as long."""
        rows = self.object_list
        assert isinstance(rows, QuerySet)
        valid = self.validate_number(number)
        first = (valid - 1) * self.per_page
        keys = list(rows.values_list("pk", flat=True)[first : first + self.per_page])
        return Page(rows.filter(pk__in=keys), valid, self)

    @property
    def is_cut(self) -> bool:
        return self._about > DEEPEST


def estimated_rows(rows: Any) -> int:
    """What the planner expects to find: from the statistics, without reading the table."""
    query, values = rows.order_by().query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {query}", values)
        found = cursor.fetchone()[0]
    plan = json.loads(found) if isinstance(found, str) else found
    return int(plan[0]["Plan"]["Plan Rows"])


class QuickChangeList(ChangeList):
    def get_ordering_field(self, field_name: Any) -> Any:
        """An address can ask for any column's order."""
        sortable = self.sortable_by is None or field_name in self.sortable_by
        return super().get_ordering_field(field_name) if sortable else None


class QuickListAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Of every list of ours. `search_fields`: ids, exact names and people, each with an index; the path of a foreign
    key to a person is searched by e-mail address, by its beginning at least.
    """

    paginator = QuickPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = PER_PAGE
    list_max_show_all = PER_PAGE
    # Django lets every column sort; here those that an index has in order.
    sortable_by: ClassVar[tuple[str, ...]] = ()
    # Columns by which our own pages link to the list, besides its filters.
    linked_by: ClassVar[tuple[str, ...]] = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return QuickChangeList

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Django lets an address filter by every column of the table, shown or not: what may not be read could be
        guessed letter by letter."""
        return self._is_offered(lookup.partition(LOOKUP_SEP)[0], request) and super().lookup_allowed(
            lookup, value, request
        )

    def _is_offered(self, name: str, request: HttpRequest) -> bool:
        """Whether a list may be narrowed down by this column: by ids, and by what stands beside the list."""
        try:
            field = self.model._meta.get_field(name)
        except FieldDoesNotExist:
            return True  # a filter's own word, or nothing
        beside = [one[0] if isinstance(one, tuple) else one for one in self.get_list_filter(request)]
        is_id = field.is_relation or getattr(field, "primary_key", False)
        return bool(is_id) or name in (*beside, *self.linked_by)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        wanted = Q(pk__in=())
        for name in self.get_search_fields(request):
            wanted |= found_by(self.model, str(name), term)
        return queryset.filter(wanted), False


def found_by(model: type[models.Model], name: str, term: str) -> Q:
    """The condition under which `term` is what stands in this field; none where it cannot stand there."""
    nothing = Q(pk__in=())
    field = get_fields_from_path(model, name)[-1]
    if field.related_model is get_user_model():
        people = people_called(term)
        return Q(**{f"{name}__in": people}) if people else nothing
    if isinstance(field, models.ForeignKey):
        field = field.target_field
    if isinstance(field, models.UUIDField):
        id_ = as_uuid(term)
        return Q(**{name: id_}) if id_ else nothing
    if isinstance(field, models.IntegerField):
        return Q(**{name: int(term)}) if term.isascii() and term.isdigit() and len(term) <= _MOST_DIGITS else nothing
    if isinstance(field, ArrayField):
        return Q(**{f"{name}__contains": [term]})
    return Q(**{name: term})


def people_called(term: str) -> list[Any]:
    """Ids of people of this id, or whose address is this or begins with it."""
    people = get_user_model()._default_manager
    id_ = as_uuid(term)
    if id_:
        return list(people.filter(pk=id_).values_list("pk", flat=True))
    exactly = people.alias(address=Lower("email")).filter(address=term.lower()).values_list("pk", flat=True)
    begun = people.filter(email__startswith=term).values_list("pk", flat=True)[:PEOPLE_FOUND]
    return [*dict.fromkeys([*exactly, *begun])]


def as_uuid(term: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(term)
    except ValueError:
        return None
