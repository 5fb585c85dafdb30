"""`python -m tests.accounts.provider.serve PORT FOLDER`: the provider, on loopback. `/control/` is the test's hand in
it: who there is, what the claims say, and which lie the token endpoint tells.
"""

import base64
import hashlib
import hmac
import importlib
import json
import sys
import threading
import time
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

WORLD: dict[str, Any] = {"lie": "", "claims": {}}
CLIENT_ID, CLIENT_SECRET = "hyperagent", "a secret of the client"


def new_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()


def configure(folder: Path) -> None:
    settings.configure(
        DEBUG=False,
        SECRET_KEY="p" * 50,
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        USE_TZ=True,
        # Its cookies are its own, though it shares a host with us.
        SESSION_COOKIE_NAME="provider_session",
        CSRF_COOKIE_NAME="provider_csrf",
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": folder / "provider.sqlite3",
                "OPTIONS": {"timeout": 20, "init_command": "PRAGMA synchronous=OFF"},
            }
        },
        INSTALLED_APPS=[
            "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
            "allauth", "allauth.account", "allauth.idp.oidc",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "allauth.account.middleware.AccountMiddleware",
            f"{__name__}.lies",
        ],
        TEMPLATES=[{
            "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
            "OPTIONS": {"context_processors": [
                "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]},
        }],
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        LOGIN_URL="/accounts/login/",
        ACCOUNT_EMAIL_VERIFICATION="none",
        ACCOUNT_RATE_LIMITS=False,
        IDP_OIDC_PRIVATE_KEY=new_key(),
        IDP_OIDC_ADAPTER="tests.accounts.provider.adapter.Adapter",
    )  # fmt: skip


def control(request: Any) -> Any:
    """`person`: made or changed. `lie`, `claims`: from now on. `enter`: this browser is signed in as that person."""
    from allauth.account.models import EmailAddress
    from allauth.idp.oidc.models import Client
    from django.contrib.auth import login
    from django.contrib.auth.models import User
    from django.http import JsonResponse

    asked = json.loads(request.body)
    WORLD.update({name: asked[name] for name in ("lie", "claims") if name in asked})
    if redirect_uri := asked.get("redirect_uri"):
        client = Client.objects.filter(pk=CLIENT_ID).first() or Client(pk=CLIENT_ID, name="HyperAgent")
        client.set_secret(CLIENT_SECRET)
        client.scopes, client.skip_consent = "openid\nprofile\nemail", True
        client.set_redirect_uris([redirect_uri])
        client.save()
    if person := asked.get("person"):
        user = User.objects.filter(username=person["name"]).first() or User(username=person["name"])
        user.first_name, user.email = person["name"].title(), person.get("email", "")
        user.set_password("password at the provider")
        user.save()
        EmailAddress.objects.filter(user=user).delete()
        if user.email:
            verified = person.get("verified", True)
            EmailAddress.objects.create(user=user, email=user.email, verified=verified, primary=True)
    if enter := asked.get("enter"):
        person_there: Any = User.objects.get(username=enter)
        login(request, person_there, backend="django.contrib.auth.backends.ModelBackend")
    return JsonResponse({"done": True})


NO_KEYS: dict[str, tuple[str, None, int]] = {
    "keys away": ("<html>out of order</html>", None, 503),
    "keys as a page": ("<html>Sign in first</html>", None, 200),
    "no keys": ('{"keys": []}', None, 200),
    "keys of nonsense": ('{"keys": [{"kty": "RSA", "kid": 7, "n": "!", "e": null}, "x"]}', None, 200),
}
"""What the address of the keys answers, with its status."""
NO_TOKENS = {
    "a page": "<html>Sign in first</html>",
    "no token": '{"access_token": "a", "token_type": "Bearer"}',
    "a token of nonsense": '{"access_token": "a", "id_token": {"sub": "alice"}}',
    "nothing": "[]",
}


def lies(get_response: Any) -> Any:
    """What a provider answers that is broken, or is somebody else."""

    def answered(request: Any) -> Any:
        from django.http import HttpResponse

        if WORLD["lie"] == "down" and not request.path.startswith("/control"):
            return HttpResponse("<html>out of order</html>", status=503)
        if WORLD["lie"] in NO_KEYS and request.path.endswith("/jwks.json"):
            return HttpResponse(*NO_KEYS[WORLD["lie"]])
        if WORLD["lie"] in NO_TOKENS and request.path.endswith("/token"):
            return HttpResponse(NO_TOKENS[WORLD["lie"]])
        response = get_response(request)
        if request.path.endswith("/token") and response.status_code == 200 and WORLD["lie"]:
            said = json.loads(response.content)
            said["id_token"] = told(said["id_token"], WORLD["lie"])
            response.content = json.dumps(said)
        return response

    return answered


def told(token: str, lie: str) -> str:
    import jwt
    from allauth.core.internal import jwkkit

    pem: str = getattr(settings, "IDP_OIDC_PRIVATE_KEY")  # noqa: B009 - known to its own settings only
    claims = jwt.decode(token, options={"verify_signature": False})
    now = int(time.time())
    changed: dict[str, dict[str, Any]] = {
        "nonce": {"nonce": "another"},
        "audience": {"aud": "somebody-else"},
        "issuer": {"iss": "http://evil.example"},
        "expired": {"iat": now - 7200, "exp": now - 3600},
        "future": {"iat": now + 3600, "exp": now + 7200},
        "no nonce": {"nonce": None},
        "no expiry": {"exp": None},
        "no subject": {"sub": None},
        "an empty subject": {"sub": ""},
        "a long subject": {"sub": "x" * 256},
        "party": {"aud": [CLIENT_ID, "other"], "azp": "other"},
    }
    claims |= changed.get(lie, {})
    claims = {name: value for name, value in claims.items() if value is not None}
    key_id = jwkkit.load_jwk_from_pem(pem)[0]["kid"]
    if lie == "none":
        return jwt.encode(claims, "", algorithm="none", headers={"kid": key_id})
    if lie == "hmac":
        public = serialization.load_pem_private_key(pem.encode(), None).public_key()
        kind = serialization.PublicFormat.SubjectPublicKeyInfo
        return _hmac(claims, key_id, public.public_bytes(serialization.Encoding.PEM, kind))
    if lie == "its own key":
        own = new_key()
        brought = {"kid": key_id, "jwk": jwkkit.load_jwk_from_pem(own)[0], "jku": "http://evil.example/keys"}
        return jwt.encode(claims, own, algorithm="RS256", headers=brought)
    signed_with = new_key() if lie == "signature" else pem
    return jwt.encode(claims, signed_with, algorithm="RS256", headers={"kid": "none" if lie == "key" else key_id})


def _hmac(claims: dict[str, Any], key_id: str, secret: bytes) -> str:
    """By hand: PyJWT makes no such token."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
        for part in ({"alg": "HS256", "typ": "JWT", "kid": key_id}, claims)
    ]
    signature = hmac.new(secret, b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        """Says nothing."""


def serve(port: int, folder: Path) -> None:
    configure(folder)
    django.setup()
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    call_command("migrate", verbosity=0)
    server = make_server("127.0.0.1", port, get_wsgi_application(), server_class=Server, handler_class=Quiet)
    threading.Thread(target=_end_with_whoever_started_it, args=(server,), daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    server.serve_forever()


def _end_with_whoever_started_it(server: Server) -> None:
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    # Settings name this module: under its own name, so that there is one world.
    importlib.import_module("tests.accounts.provider.serve").serve(int(sys.argv[1]), Path(sys.argv[2]))
else:
    # As ROOT_URLCONF, which is read when the first request comes.
    def __getattr__(name: str) -> Any:
        if name != "urlpatterns":
            raise AttributeError(name)
        from django.urls import include, path
        from django.views.decorators.csrf import csrf_exempt

        return [
            path("control/", csrf_exempt(control)),
            path("accounts/", include("allauth.account.urls")),
            path("", include("allauth.idp.urls")),
        ]
