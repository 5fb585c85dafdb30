"""Who tries: the people of the walls by name, and what each may by the words of the table in `access`."""

from typing import Any, Final

from hyperagent.accounts.models import User
from tests.walls.owners import person_with

ALICE, CHARLIE, NOBODY, PROGRAM = "Alice", "Charlie", "nobody", "Charlie's program"
# What each may, besides what everyone may. A star: the list, and in it what is theirs.
MAY: Final[dict[str, set[str]]] = {
    NOBODY: set(),
    CHARLIE: {"person"},
    PROGRAM: {"person", "token"},
    "reviewer": {"person", "role", "reviewer", "reviewer*"},
    "auditor": {"person", "role", "auditor"},
    "administrator": {"person", "role", "staff"},
    "superuser": {"person", "role", "staff", "rights"},
    ALICE: {"person", "owner"},
}
ROLES: Final = ("reviewer", "auditor", "administrator", "superuser")


def people(alice: Any, bob: Any, charlie: Any) -> dict[str, Any]:
    root = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    roles = {name: person_with(name) for name in ("reviewer", "auditor")}
    return {NOBODY: None, CHARLIE: charlie, **roles, "administrator": bob, "superuser": root, ALICE: alice}
