"""The web server: its addresses, keys and who stands before it."""

from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from hyperagent.lib.conf.values import FLAG, Topic, Words, host_pattern, web_address

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class Web(Topic):
    secret_key: SecretStr = Field(
        SecretStr(""), alias="SECRET_KEY", min_length=32, description="at least 32 random characters"
    )
    secret_key_fallbacks: Words = Field(
        (), alias="SECRET_KEY_FALLBACKS", description="former values of SECRET_KEY, with commas between", repr=False
    )
    debug: bool = Field(False, alias="DEBUG", description=FLAG)
    site_url: str = Field(
        "http://127.0.0.1:8000", alias="SITE_URL", description="the address that people open: http(s)://host[:port]"
    )
    preview_host: str = Field(
        "",
        alias="PREVIEW_HOST",
        pattern=r"^([a-z0-9-]+\.)*[a-z0-9-]+$|^$",
        description="a name of which every subdomain leads here, such as previews.example.org; for previews of apps",
    )
    allowed_hosts: Words = Field(
        (),
        alias="ALLOWED_HOSTS",
        description="host names without scheme, port or path, or .example.org for all below it; with commas between",
    )
    csrf_trusted_origins: Words = Field(
        (), alias="CSRF_TRUSTED_ORIGINS", description="origins such as https://agents.example.org, with commas between"
    )
    trusted_proxies: int = Field(
        0, alias="TRUSTED_PROXIES", ge=0, le=10, description="how many reverse proxies stand in front, 0 to 10"
    )
    port: int = Field(8000, alias="PORT", ge=1, le=65535, description="a port, 1 to 65535")

    @field_validator("site_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        return web_address(value)

    @field_validator("allowed_hosts")
    @classmethod
    def _allowed_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(host_pattern, value))

    @field_validator("csrf_trusted_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """As browsers send them, and as Django compares them: without a slash at the end."""
        return tuple(map(web_address, value))

    @property
    def is_https(self) -> bool:
        return self.site_url.startswith("https://")

    @property
    def preview_name(self) -> str:
        """Below it each app that is previewed has a name of its own. On the machine itself that is `localhost`, which
        every browser takes for this machine; empty where there is none."""
        here = urlsplit(self.site_url).hostname or ""
        return self.preview_host or ("localhost" if here in ("127.0.0.1", "localhost") else "")

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that are answered: those that are set, else this machine and the host of SITE_URL."""
        return self.allowed_hosts or tuple(dict.fromkeys((*LOCAL_HOSTS, urlsplit(self.site_url).hostname or "")))

    @property
    def origins(self) -> tuple[str, ...]:
        return self.csrf_trusted_origins or ((self.site_url,) if self.is_https else ())
