"""What is remembered, for the person whom it is of and nobody else. Each endpoint checks the shape of what came, calls
a verb of `memory.remembering.actions` and shows what it gave.
"""

import uuid

from django.db import transaction
from django.http import HttpResponseBase, JsonResponse
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hyperagent.accounts.scoped import ScopedView
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.api import ErrorSerializer, own_or_404
from memory.api import memory_serializers as serializers
from memory.kinds import MemoryStatus
from memory.models import Memory
from memory.remembering import actions, listing

REFUSALS = dict.fromkeys((400, 404, 409), ErrorSerializer)


class Memories(ScopedView):
    # The single memory has the other name.
    @extend_schema(operation_id="v1_memory_all", responses=serializers.MemoriesSerializer)
    def get(self, request: Request) -> Response:
        """The profile and every memory, with its source, its uses and what it took the place of."""
        return Response(listing.everything_of(self.caller))

    @extend_schema(
        operation_id="v1_memory_switch",
        request=serializers.MemoriesChangeSerializer,
        responses={200: serializers.MemoriesSerializer, 400: ErrorSerializer},
    )
    def patch(self, request: Request) -> Response:
        """Says what the profile holds, and switches remembering on or off. Off, nothing is told and nothing is learned;
        what is known stays."""
        asked = serializers.MemoriesChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        with transaction.atomic():
            if "on" in asked.validated_data:
                actions.turn(self.caller, on=asked.validated_data["on"])
            actions.fill(self.caller, asked.profile)
        return Response(listing.everything_of(self.caller))

    @extend_schema(operation_id="v1_memory_forget_everything", responses={200: serializers.ForgottenSerializer})
    def delete(self, request: Request) -> Response:
        """Forgets everything that is remembered of you. It cannot be taken back."""
        return Response({"forgotten": actions.forget_everything(self.caller)})


class MemoryExport(ScopedView):
    @extend_schema(responses=serializers.MemoriesSerializer)
    def get(self, request: Request) -> HttpResponseBase:
        """Everything that is remembered of you, as a JSON file."""
        record(AuditKind.EXPORT_TAKEN, actor=actor_of(self.caller), target=Target("memories", ""))
        response = JsonResponse(listing.export_of(self.caller), json_dumps_params={"indent": 1, "ensure_ascii": False})
        response["Content-Disposition"] = 'attachment; filename="memories.json"'
        return response


class OneMemory(ScopedView):
    @extend_schema(responses={200: serializers.MemorySerializer, 404: ErrorSerializer})
    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """One memory: its text, the message that it comes from, when and why it was used."""
        return Response(listing.one_of(self.caller, memory_id))

    @extend_schema(
        request=serializers.MemoryChangeSerializer, responses={200: serializers.MemorySerializer, **REFUSALS}
    )
    def patch(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Corrects it (`text`), pins it (`pinned`), or takes it out of quarantine (`status`)."""
        listing.one_of(self.caller, memory_id)
        asked = serializers.MemoryChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        with transaction.atomic():
            if "text" in given:
                actions.correct(self.caller, memory_id, given["text"])
            elif "status" in given:
                actions.accept(self.caller, memory_id)
            if "pinned" in given:
                actions.pin(self.caller, memory_id, pinned=given["pinned"])
        return Response(listing.one_of(self.caller, memory_id))

    @extend_schema(responses={204: None, 404: ErrorSerializer})
    def delete(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Forgets it: its text, its source, its history and what was made of it."""
        own_or_404(Memory.objects.of(self.caller).exclude(status=MemoryStatus.FORGOTTEN).only("id"), pk=memory_id)
        actions.forget(self.caller, memory_id)
        return Response(status=204)


urlpatterns = [
    path("memory", Memories.as_view(), name="memory"),
    path("memory/export", MemoryExport.as_view(), name="memory-export"),
    path("memory/<uuid:memory_id>", OneMemory.as_view(), name="one-memory"),
]
