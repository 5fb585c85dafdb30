"""Where one may go, as pure rules: the one spelling of an address, and which IP addresses are the internet's.

What a host's name means is asked of DNS elsewhere, at each connection.
"""

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from hyperagent.lib.domains import ascii_domain

MAX_URL_CHARS: Final = 2000
PORTS: Final = (80, 443, 8080, 8443)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
# All that the internet has of IPv6. What lies beside it leads inside or nowhere, whatever `ipaddress` says of it, such
# as what carries an IPv4 address within (NAT64, translated and compatible ones).
_INTERNET6: Final = ip_network("2000::/3")
# Networks that `ipaddress` calls global, or does so in some versions of Python, and that lead inside all the same:
# those that carry an IPv4 address within (6to4, Teredo), what is not routed at all, and the address by which Azure
# talks to its machines.
_INSIDE: Final = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "100.64.0.0/10",
            "168.63.129.16/32",
            "192.0.0.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "240.0.0.0/4",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
        ),
    )
)
# 127.1, 2130706433, 0x7f.1: some programs take them for addresses.
_NUMBERS: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE)
_PLAIN_NAME: Final = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
# Names that mean something within a network only. Whatever else leads inside is seen by its address.
_INSIDE_NAMES: Final = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "lan",
    "home.arpa",
    "svc",
    "consul",
)
_METADATA_NAMES: Final = ("metadata.goog",)
# A blank, and a byte that is no UTF-8, as headers are read.
_STRAY: Final = re.compile("[ \udc80-\udcff]")
_PATH: Final = "/%:@!$&'()*+,;=~-._"

NOT_PRINTABLE: Final = f"The address may have {MAX_URL_CHARS} printable characters, without spaces or backslashes."
NOT_AN_ADDRESS: Final = "This is not a web address. Write it like https://example.org/page."
NOT_HTTP: Final = "Only addresses with http:// or https:// can be used. Write it like https://example.org/page."
HAS_USER: Final = "The address may not contain a user name or password. Leave out what stands before the @."
ODD_NUMBER: Final = "This host is a number in an unusual form. Write the name, or all four parts of the IP address."
INSIDE: Final = "This address leads into a private network, which is not reached from here. Use a public one."


class BadAddress(ValueError):
    """Not an address that may be used; the message is a sentence for whoever wrote it."""


class InsideBadAddress(BadAddress):
    """It leads into a private network."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of the web in its one spelling: host in lower case and ASCII, no fragment. `path`: with the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.path}"

    def at(self, location: str, *, allow_private: bool) -> "Address":
        """What a link or redirect on this page leads to, read as browsers read it: many servers write blanks, and bytes
        beyond ASCII, as they are. Raises BadAddress."""
        try:
            joined = urljoin(self.url, _STRAY.sub(_escaped, location.strip()))
        except ValueError:
            raise BadAddress(NOT_AN_ADDRESS) from None
        return canonical(joined, allow_private=allow_private)


def _escaped(stray: re.Match[str]) -> str:
    return f"%{ord(stray[0]) & 0xFF:02X}"


def canonical(url: str, *, allow_private: bool, any_port: bool = False) -> Address:
    """The address in its one spelling. Raises BadAddress, and InsideBadAddress where the name itself shows it.

    `allow_private`: for installations that may reach their own networks; any port goes there. A name is not resolved:
    what it means may change, and is looked at whenever a connection is made.
    """
    if len(url) > MAX_URL_CHARS or not url.isprintable() or " " in url or "\\" in url:
        raise BadAddress(NOT_PRINTABLE)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadAddress(NOT_AN_ADDRESS) from None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise BadAddress(NOT_HTTP)
    if "@" in parts.netloc:
        raise BadAddress(HAS_USER)
    name = _host(host, allow_private=allow_private)
    number = _DEFAULT_PORTS[parts.scheme] if port is None else port
    if number == 0 or not (any_port or allow_private or number in PORTS):
        raise BadAddress(f"Port {number} is not used here. Allowed are {', '.join(map(str, PORTS))}.")
    query = f"?{quote(parts.query, safe=f'{_PATH}?')}" if parts.query else ""
    return Address(parts.scheme, name, number, (quote(parts.path, safe=_PATH) or "/") + query)


def url_fault(url: str, *, allow_private: bool) -> str | None:
    """What is wrong with the address of a webhook, as a sentence for whoever typed it; None if nothing is. Any port."""
    try:
        canonical(url, allow_private=allow_private, any_port=True)
    except BadAddress as fault:
        return str(fault)
    return None


def pattern_fault(pattern: str) -> str:
    """What is wrong with a host, or `*.` and a host, as an administrator writes it; empty if nothing is."""
    bare = pattern.removeprefix("*.")
    try:
        named = canonical(f"https://{bare}/", allow_private=True, any_port=True)
    except BadAddress:
        named = None
    return "" if named is not None and named.host == bare else f"'{pattern}' is no host"


def is_same_site(host: str, other: str) -> bool:
    """Whether two hosts are the same, but for `www.`: that is its owner's own."""
    return host.removeprefix("www.") == other.removeprefix("www.")


def is_public(address: str) -> bool:
    """Whether this IP address is one of the internet's. False for loopback, private, link-local, metadata and what
    embeds such a one; and for what is no address.
    """
    try:
        ip: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if isinstance(ip, IPv6Address) and ip not in _INTERNET6:
        return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _INSIDE if _same(ip, network))


def _host(host: str, *, allow_private: bool) -> str:
    """In ASCII and lower case, without the dot of the root; an IPv6 address in its short form."""
    if "%" in host:
        raise BadAddress(NOT_AN_ADDRESS)
    folded = unicodedata.normalize("NFKC", host).lower().removesuffix(".")
    literal = _literal(folded)
    if literal is not None:
        if not allow_private and not is_public(str(literal)):
            raise InsideBadAddress(INSIDE)
        return str(literal)
    if _NUMBERS.fullmatch(folded) or _NUMBERS.fullmatch(folded.rpartition(".")[2]):
        raise BadAddress(ODD_NUMBER)
    name = _ascii(folded)
    if not allow_private and _is_inside_name(name):
        raise InsideBadAddress(INSIDE)
    return name


def _ascii(name: str) -> str:
    try:
        plain = ascii_domain(name)
    except UnicodeError:
        raise BadAddress(NOT_AN_ADDRESS) from None
    if not _PLAIN_NAME.fullmatch(plain):
        raise BadAddress(NOT_AN_ADDRESS)
    return plain


def _is_inside_name(name: str) -> bool:
    """Also a name without a dot: only a network's own servers have such."""
    return "." not in name or name in _METADATA_NAMES or any(name.endswith(f".{end}") for end in _INSIDE_NAMES)


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _same(ip: IPv4Address | IPv6Address, network: object) -> bool:
    return ip.version == getattr(network, "version", None)
