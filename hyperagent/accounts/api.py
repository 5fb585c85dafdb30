"""The account over the API: a token for a password, the list of one's tokens, and who one is."""

import uuid
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import AuthenticationFailed, ErrorDetail, NotFound, PermissionDenied, Throttled
from rest_framework.generics import ListAPIView
from rest_framework.permissions import AllowAny, BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hyperagent.accounts import actions
from hyperagent.accounts.attempts import TooManyTries
from hyperagent.accounts.authentication import CHALLENGE, HasScope
from hyperagent.accounts.budgets import budget_of
from hyperagent.accounts.forms import MAX_PASSWORD_CHARS
from hyperagent.accounts.limits import too_many_tries
from hyperagent.accounts.mfa import entering, factors, session_marks
from hyperagent.accounts.mfa.forms import CODE_CHARS
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.openapi import TokenAuthenticationScheme  # noqa: F401 - known to the schema once imported
from hyperagent.accounts.requests import address_of
from hyperagent.accounts.scopes import DEFAULT_SCOPES, Role, Scope, UserKind
from hyperagent.lib.api import NullIsLeftOut, Pages, Several
from hyperagent.lib.refusals import Refused


class Credentials(NullIsLeftOut):
    email = serializers.EmailField(max_length=254)
    password = serializers.CharField(max_length=MAX_PASSWORD_CHARS, trim_whitespace=False)
    otp = serializers.CharField(
        max_length=CODE_CHARS,
        required=False,
        default="",
        allow_blank=True,
        help_text="A code of the authenticator app, or a recovery code: needed where the account has a second factor.",
    )
    name = serializers.CharField(max_length=100, required=False, default="", allow_blank=True)
    scopes = Several(
        child=serializers.CharField(max_length=100),
        max_length=20,
        required=False,
        default=list(DEFAULT_SCOPES),
        help_text=f"Of {', '.join(Scope)}. Without it: {', '.join(DEFAULT_SCOPES)}.",
    )
    expires_at = serializers.DateTimeField(required=False, default=None, allow_null=True)


class NewToken(serializers.Serializer[dict[str, Any]]):
    token = serializers.CharField(help_text="Shown this once.")
    id = serializers.UUIDField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=[scope.value for scope in Scope]))
    expires_at = serializers.DateTimeField()


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    class Meta:
        model = ApiToken
        fields = ("id", "name", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")


class MeSerializer(serializers.Serializer[dict[str, Any]]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    display_name = serializers.CharField()
    kind = serializers.ChoiceField(
        choices=[(kind.value, kind.name) for kind in UserKind], help_text="service: no person."
    )
    roles = serializers.ListField(child=serializers.ChoiceField(choices=[role.value for role in Role]))
    budget = serializers.JSONField(
        allow_null=True,
        help_text="null: no budget applies. Else `used_up`, and `limits` as /api/v1/budgets has its `budgets`.",
    )


class TokenCreate(APIView):
    # No session and no token open this door, only the password, so a foreign page has nothing to abuse.
    authentication_classes = ()
    permission_classes = (AllowAny,)
    throttle_classes = ()  # The limits of `attempts` hold here, and outlive the cache.

    def get_authenticate_header(self, request: Request) -> str:
        return CHALLENGE

    @extend_schema(
        request=Credentials,
        responses={
            201: NewToken,
            401: OpenApiResponse(
                description="`bad_credentials`: wrong e-mail address or password. `otp_required`: the account has a "
                "second factor, send its code as `otp`. `wrong_code`: that code is not right, or was used before."
            ),
            403: OpenApiResponse(
                description="`sso_required`: people sign in by the provider of single sign-on, and make tokens in the "
                "settings. `second_factor_required`: a second factor has to be set up first, in the settings."
            ),
            429: OpenApiResponse(),
        },
    )
    def post(self, request: Request) -> Response:
        """A token for an e-mail address and a password, for programs. It is shown this once; send it as `Authorization:
        Bearer ha_…` with every other request. It opens nothing any more at its end date, once it is revoked, and once
        the password is changed or reset.
        """
        asked = Credentials(data=request.data)
        asked.is_valid(raise_exception=True)
        values: dict[str, Any] = asked.validated_data
        try:
            user = actions.check_credentials(values["email"], values["password"], address=address_of(request))
        except TooManyTries as refused:
            raise _throttled(refused) from None
        if user is None:
            raise AuthenticationFailed(_("The e-mail address or the password is wrong."), code="bad_credentials")
        _check_second_factor(user, values["otp"], address=address_of(request))
        try:
            token, raw = actions.make_token(
                user, name=values["name"], scopes=values["scopes"], expires_at=values["expires_at"]
            )
        except ValidationError as error:
            raise serializers.ValidationError(error.message_dict) from None
        shown = {"token": raw, "id": token.pk, "scopes": token.scopes, "expires_at": token.expires_at}
        response = Response(NewToken(shown).data, status=status.HTTP_201_CREATED)
        response["Cache-Control"] = "no-store"
        return response


class TokenList(ListAPIView[ApiToken]):
    """Your API tokens, revoked and ended ones too, without the tokens themselves."""

    permission_classes = (HasScope(Scope.READ),)
    serializer_class = TokenSerializer
    pagination_class = Pages
    filter_backends = ()
    queryset = ApiToken.objects.none()

    def get_queryset(self) -> Any:
        assert isinstance(self.request.user, User)
        return ApiToken.objects.owned_by(self.request.user)


class TokenDetail(APIView):
    def get_permissions(self) -> list[BasePermission]:
        # A token may always end itself, whatever its scopes.
        return [IsAuthenticated()] if self.request.method == "DELETE" else [HasScope(Scope.READ)()]

    @extend_schema(responses={200: TokenSerializer})
    def get(self, request: Request, token_id: uuid.UUID) -> Response:
        """One of your own tokens: its name, scopes and times, without the token itself."""
        return Response(TokenSerializer(_own_token(request, token_id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: uuid.UUID) -> Response:
        """Revokes it: it is refused from the next request on. A token can revoke only itself."""
        token = _own_token(request, token_id)
        if isinstance(request.auth, ApiToken) and request.auth.pk != token.pk:
            raise PermissionDenied(_("A token can only revoke itself. Sign in to revoke others."), code="not_by_token")
        actions.revoke_token(token.user, token.pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Me(APIView):
    permission_classes = (IsAuthenticated,)

    @extend_schema(responses=MeSerializer)
    def get(self, request: Request) -> Response:
        """Who you are: the account, its roles, and the budget that applies to it."""
        user = request.user
        assert isinstance(user, User)
        shown = {
            "id": user.pk,
            "email": user.email,
            "display_name": user.display_name,
            "kind": user.kind,
            "roles": user.roles(),
            "budget": budget_of(user),
        }
        return Response(MeSerializer(shown).data)


def _check_second_factor(user: User, otp: str, *, address: str | None) -> None:
    """A password alone opens no account that has more. Raises AuthenticationFailed, PermissionDenied, Throttled."""
    if entering.by_provider_only(user):
        raise PermissionDenied(
            _("Tokens are not given for passwords here. Sign in on the page, and make one in Settings > API tokens."),
            code="sso_required",
        )
    if not factors.has_factor(user):
        if session_marks.needs_factor(user):
            raise PermissionDenied(
                _("This account needs a second factor first. Sign in on the page, and set one up in the settings."),
                code="second_factor_required",
            )
        return
    if not otp:
        raise AuthenticationFailed(
            _("This account has a second factor. Send a code of its app, or a recovery code, as otp."),
            code="otp_required",
        )
    try:
        factors.use_code(user, otp, address=address)
    except TooManyTries as refused:
        raise _throttled(refused) from None
    except Refused as refused:
        raise AuthenticationFailed(refused.message, code=refused.code) from None


def _own_token(request: Request, token_id: uuid.UUID) -> ApiToken:
    """Somebody else's token is as absent as one that never was."""
    assert isinstance(request.user, User)
    token = ApiToken.objects.owned_by(request.user).select_related("user").filter(pk=token_id).first()
    if token is None:
        raise NotFound(_("You have no token {token_id}.").format(token_id=token_id))
    return token


def _throttled(refused: TooManyTries) -> Throttled:
    error = Throttled(wait=refused.retry_after_s)
    # The constructor would append a sentence of its own.
    error.detail = ErrorDetail(too_many_tries(refused.retry_after_s), code="too_many_tries")
    return error
