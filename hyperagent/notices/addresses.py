"""Where a webhook may go, as pure rules. What a host's name means is asked of DNS elsewhere, at each connection."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

MAX_URL_CHARS = 2000
# Networks that `ipaddress` calls global, or does so in some versions of Python, and that lead inside all the same:
# those that carry an IPv4 address within (NAT64, 6to4, Teredo, compatible ones), what is not routed at all, and the
# address by which Azure talks to its machines.
_INSIDE = tuple(
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
            "::/96",
            "64:ff9b::/96",
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
            "5f00::/16",
            "fec0::/10",
        ),
    )
)
# 127.1, 2130706433, 0x7f.1: some programs take them for addresses.
_NUMBERS = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE)


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
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _INSIDE if _same(ip, network))


def url_fault(url: str, *, allow_private: bool) -> str | None:
    """What is wrong with the address of an endpoint, as a sentence for whoever typed it; None if nothing is.

    A name is not resolved: what it means may change, and is looked at whenever something is sent.
    """
    if len(url) > MAX_URL_CHARS or not url.isprintable() or " " in url or "\\" in url:
        return f"The address may have {MAX_URL_CHARS} printable characters, without spaces or backslashes."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "This is not a web address. Write it like https://example.org/hooks."
    if parts.scheme not in ("http", "https") or not host:
        return "Only addresses with http:// or https:// can be used. Write it like https://example.org/hooks."
    if parts.username is not None or parts.password is not None:
        return "The address may not contain a user name or password. What is sent is signed instead."
    return _host_fault(host, allow_private=allow_private)


def _host_fault(host: str, *, allow_private: bool) -> str | None:
    if _NUMBERS.fullmatch(host) and not _is_literal(host):
        return "This host is a number in an unusual form. Write the name, or all four parts of the IP address."
    if not allow_private and ((_is_literal(host) and not is_public(host)) or _names_this_machine(host)):
        return "This address leads into a private network, where webhooks are not sent. Use a public one."
    return None


def _same(ip: IPv4Address | IPv6Address, network: object) -> bool:
    return ip.version == getattr(network, "version", None)


def _is_literal(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _names_this_machine(host: str) -> bool:
    bare = host.rstrip(".").lower()
    return bare == "localhost" or bare.endswith(".localhost")
