"""What the tools of this installation reach the world by, and whether an agent can work with it."""

from django.conf import settings

from agents.documents import OwnDocuments
from agents.mail.account import MailAccount
from agents.spec import AgentSpec
from agents.tools.providers import Providers
from hyperagent.lib.conf import Config
from hyperagent.lib.mail_servers import imap_server, smtp_server


def providers_of(config: Config) -> Providers:
    """Connects to nothing yet. What is not configured says so when it is asked. Documents need no setting."""
    smtp_url, imap_url = config.smtp_url.get_secret_value(), config.imap_url.get_secret_value()
    if not smtp_url or not imap_url:
        return Providers(documents=OwnDocuments())
    mailbox = MailAccount(smtp_server(smtp_url), imap_server(imap_url))
    return Providers(documents=OwnDocuments(), mailbox=mailbox)


# What the runners of this installation are given as well.
PROVIDERS = providers_of(settings.CONFIG)


def why_unavailable(spec: AgentSpec, providers: Providers = PROVIDERS) -> str:
    """What is missing, in words for people with the way out; empty if nothing is."""
    return providers.lacks(spec.needs)
