"""`python -m benchmarks.seed`: migrates, and makes a user with a token and empty conversations. Says them in JSON."""

import argparse
import json
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
django.setup()

# Models exist only after Django is set up.
from django.core.management import call_command  # noqa: E402

from conversations.models import Conversation  # noqa: E402
from hyperagent.accounts.actions import make_token  # noqa: E402
from hyperagent.accounts.models import User  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seed")
    parser.add_argument("--conversations", type=int, required=True)
    count = parser.parse_args().conversations
    call_command("migrate", interactive=False, verbosity=0)
    user = User.objects.create_user(email="load@example.org", password="a password for nobody but the load")
    _, token = make_token(user, name="load", scopes=("run", "read", "documents"))
    made = Conversation.objects.bulk_create([Conversation(user=user) for _ in range(count)])
    print(json.dumps({"token": token, "conversations": [str(one.id) for one in made]}))


if __name__ == "__main__":
    main()
