"""What the tools of this installation reach the world by, and whether an agent can work with it."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings

from agents.apps.own import OwnApps
from agents.browser import chromium
from agents.browser.own import OwnBrowser
from agents.codeact.scripts import HostedScripts
from agents.documents import OwnDocuments
from agents.images.own import OwnImages
from agents.mail.account import ServerAccount
from agents.mail.mailboxes import Mailboxes
from agents.mcp.provider import ConnectedServers
from agents.modes import MODES
from agents.sandbox.chosen import has_network, why_off
from agents.sandbox.host.client import sandbox_host
from agents.sandbox.provider import HostedSandbox
from agents.spec import AgentSpec
from agents.tools.providers import NotConfigured, Providers
from agents.web.choice import service_of
from agents.web.pages import GuardedPages
from agents.web.searching import WebSearch
from agents.workspace import OwnFiles
from hyperagent.lib.conf import Config
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.resolve import image_target
from hyperagent.lib.mail_servers import imap_server, smtp_server

if TYPE_CHECKING:
    from hyperagent.lib.llm.gateway import ModelGateway


def providers_of(config: Config, models: "ModelGateway | None" = None) -> Providers:
    """Connects to nothing yet. What is not configured says so when it is asked. Documents, files and web pages need no
    setting. `models`: None where no tool is called."""
    pages, workspace, documents = GuardedPages(), OwnFiles(), OwnDocuments()
    given: dict[str, Any] = {"documents": documents, "workspace": workspace, "pages": pages}
    given["connections"] = ConnectedServers()
    why = why_off(config)
    boxes = HostedSandbox(sandbox_host, workspace, has_network=has_network(config))
    given["sandbox"] = NotConfigured(why) if why else boxes
    given["apps"] = NotConfigured(why) if why else OwnApps(sandbox_host, workspace)
    given["scripts"] = NotConfigured(why) if why else HostedScripts(sandbox_host, workspace)
    no_browser = why or chromium.why_off(config)
    given["browser"] = NotConfigured(no_browser) if no_browser else OwnBrowser(sandbox_host)
    if service := service_of(config):
        given["web"] = WebSearch(service, pages)
    if _has_images(LLMSettings.from_env(os.environ) if models is None else models.settings):
        given["images"] = OwnImages(models, workspace=workspace, documents=documents, pages=pages)
    given["mailbox"] = Mailboxes(shared_mailbox(config))
    return Providers(**given)


def shared_mailbox(config: Config) -> ServerAccount | None:
    """The installation's, for whoever has none of their own; None if an administrator configured none."""
    smtp_url, imap_url = config.smtp_url.get_secret_value(), config.imap_url.get_secret_value()
    return ServerAccount(smtp_server(smtp_url), imap_server(imap_url)) if smtp_url and imap_url else None


def _has_images(models: LLMSettings) -> bool:
    """Whether some model makes them, or may look at them."""
    return image_target(models) is not None or any(provider.capable for provider in models.providers)


# What is there for whoever only asks what is there; a runner has its own, with its models.
PROVIDERS = providers_of(settings.CONFIG)


def why_unavailable(spec: AgentSpec, user_id: UUID | None, providers: Providers = PROVIDERS) -> str:
    """What is missing for this user, in words for people with the way out; empty if nothing is. Synchronous."""
    lacking, mailbox = providers.lacks(spec.needs), providers.mailbox
    if lacking or "mailbox" not in spec.needs or not isinstance(mailbox, Mailboxes):
        return lacking
    return mailbox.lacking(user_id)


def modes_lacking(providers: Providers = PROVIDERS, models: LLMSettings | None = None) -> dict[str, str]:
    """The modes that begin with a skill and lack something here, each with what it is, in words for people."""
    models = LLMSettings.from_env(os.environ) if models is None else models
    # A model that looks at images is not one that makes them.
    there = providers if image_target(models) is not None else replace(providers, images=Providers().images)
    said = {mode.name: there.lacks(mode.needs) for mode in MODES.values() if mode.skill is not None}
    return {name: why for name, why in said.items() if why}
