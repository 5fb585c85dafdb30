"""The view that every part of the API with something to look at and something to change is made of. Knows scopes and
who asks; what is looked at is its subclasses'."""

from typing import ClassVar

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.views import APIView

from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope


class ScopedView(APIView):
    """Looking needs one of the scopes in `looking`, changing one of those in `changing`."""

    looking: ClassVar[type[BasePermission]] = HasScope(Scope.READ)
    changing: ClassVar[type[BasePermission]] = HasScope(Scope.RUN)

    def get_permissions(self) -> list[BasePermission]:
        return [self.looking() if self.request.method in SAFE_METHODS else self.changing()]

    @property
    def caller(self) -> User:
        user = self.request.user
        assert isinstance(user, User)
        return user
