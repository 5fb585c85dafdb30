"""`GET /search/all`: what a person looks for, in everything that they have."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from conversations.searching.everything import find
from conversations.searching.values import MOST_AT_ONCE, MOST_PAGES, Asked, Kind, Result
from conversations.searching.words import QUERY_CHARS
from hyperagent.accounts.metering import take
from hyperagent.accounts.quotas import Work
from hyperagent.accounts.scoped import ScopedView
from hyperagent.lib.api import ErrorSerializer, OneOf
from hyperagent.lib.text import clean_text
from hyperagent.lib.times import iso


class AskedSerializer(serializers.Serializer[Any]):
    q = serializers.CharField(
        max_length=QUERY_CHARS, allow_blank=True, default="", help_text="Words, or their beginnings."
    )
    kind = OneOf(Kind, required=False, help_text="Only this kind; without: the best of all.")
    since = serializers.DateField(required=False, help_text="From this day on. `from` is the same.")
    until = serializers.DateField(required=False, help_text="Up to this day, which is included. `to` is the same.")
    limit = serializers.IntegerField(min_value=1, max_value=MOST_AT_ONCE, default=20)
    page = serializers.IntegerField(min_value=1, max_value=MOST_PAGES, default=1, help_text="With a kind only.")

    def asked(self) -> Asked:
        """Once it is valid."""
        given: dict[str, Any] = self.validated_data
        kind = given.get("kind")
        return Asked(
            given["q"],
            kind=Kind(kind) if kind else None,
            since=given.get("since"),
            until=given.get("until"),
            limit=given["limit"],
            page=given["page"],
        )


class PieceSerializer(serializers.ListField):
    """`[text, whether it is what was looked for]`."""

    child = serializers.JSONField()


class ResultSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=[kind.value for kind in Kind])
    id = serializers.UUIDField()
    title = serializers.CharField(help_text="Of a message: its conversation's.")
    title_pieces = serializers.ListField(child=PieceSerializer(), help_text="The title as pieces: [text, is_match].")
    excerpt = serializers.ListField(child=PieceSerializer(), help_text="Pieces: [text, is_match].")
    url = serializers.CharField(help_text="Of the page that shows it, at the place.")
    at = serializers.DateTimeField()
    role = serializers.CharField(required=False, help_text="Of a message: user or assistant.")
    conversation_id = serializers.UUIDField(required=False, help_text="Of a conversation or a message.")


class EverythingSerializer(serializers.Serializer[Any]):
    results = ResultSerializer(many=True)
    more = serializers.BooleanField()
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="By kind; of messages 1,000 at most.")
    has_all_words = serializers.BooleanField(
        help_text="False where no message has all of the words, and those with some are shown."
    )


def result_shape(one: Result) -> dict[str, Any]:
    shape = {
        "kind": one.kind.value,
        "id": str(one.id),
        "title": one.title,
        "title_pieces": [list(piece) for piece in one.title_pieces],
        "excerpt": [list(piece) for piece in one.excerpt],
        "url": one.url,
        "at": iso(one.at),
    }
    if one.role:
        shape["role"] = one.role
    if one.conversation_id:
        shape["conversation_id"] = str(one.conversation_id)
    return shape


class SearchAll(ScopedView):
    @extend_schema(parameters=[AskedSerializer], responses={200: EverythingSerializer, 400: ErrorSerializer})
    def get(self, request: Request) -> Response:
        """The caller's conversations (titles), messages, documents, files, memories and projects, best first."""
        asked = AskedSerializer(data=_given(request))
        asked.is_valid(raise_exception=True)
        take(self.caller.pk, Work.SEARCH)
        found = find(self.caller, asked.asked())
        return Response(
            {
                "results": [result_shape(one) for one in found.results],
                "more": found.more,
                "counts": {kind.value: count for kind, count in found.counts.items()},
                "has_all_words": found.has_all_words,
            }
        )


def _given(request: Request) -> dict[str, Any]:
    """What is empty in a form is as if it were not there; `from` and `to` are no names in a program."""
    given = {name: clean_text(str(value)) for name, value in request.query_params.items() if value}
    return {{"from": "since", "to": "until"}.get(name, name): value for name, value in given.items()}
