"""The names of hosts as DNS and mail servers know them. Pure."""

import idna


def ascii_domain(domain: str) -> str:
    """By IDNA 2008 with the mapping of UTS 46, as browsers do. The `idna` of Python's codecs is that of 2003: it makes
    `strasse.de` of `straße.de`, which is another's. Raises UnicodeError."""
    if domain.isascii():
        # Nothing is written anew; labels that are empty or too long are refused.
        return domain.encode("idna").decode("ascii")
    return idna.encode(domain, uts46=True).decode("ascii")


def with_ascii_domain(address: str) -> str:
    """A mail address, alone or as `Name <address>`, with its domain as mail servers know it. Raises UnicodeError."""
    local, at, rest = address.rpartition("@")
    domain = rest.removesuffix(">")
    return f"{local}{at}{ascii_domain(domain)}{rest[len(domain) :]}" if at else address
