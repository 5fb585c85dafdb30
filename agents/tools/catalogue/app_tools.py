"""Building a web app and showing it (S197): a project in the conversation's workspace, a server in its sandbox."""

from typing import Annotated, Any, Final, Literal

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field, WithJsonSchema

from agents.apps.starters import FOLDER, PORT, STARTERS, in_workspace, offered
from agents.engine.events import AppPreview, TerminalCommand, TerminalComplete, TerminalError
from agents.tools import previews
from agents.tools.catalogue.code_tools import updated
from agents.tools.tool import ANY_AGENT, Call, OwnFiles, Reply, Sends, tool
from agents.tools.values import StoredFile

OFFERED: Final = offered()
"""When this process began: what is installed later is offered by processes that begin later."""
Template = Annotated[
    Literal["static", "react", "vue", "flask", "fastapi", "node", "express", "nextjs"],
    WithJsonSchema({"enum": [starter.name for starter in OFFERED], "type": "string"}),
]
Package = Annotated[str, Field(pattern=r"^[@\w][\w@./~^=<>-]{0,100}$")]
NOT_INSTALLED: Final = (
    "The sandbox has no network to install from. The templates static, react, vue, flask, fastapi and node need no "
    "package, and Python has numpy, pandas, matplotlib, flask and fastapi."
)
TOLD: Final = "; ".join(f"{starter.name}: {starter.description}" for starter in OFFERED)


async def _was_created(call: Call, template: Template, **_: Any) -> bool | None:
    """The last of its files was written."""
    last = list(STARTERS[template].files())[-1]
    return await call.providers.workspace.was_written(call.about, in_workspace(last), call.key, scope="conversation")


def _project(_: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("conversation", f"{FOLDER}/"),)


@tool(
    label=gettext_noop("Begin an app"),
    agents=ANY_AGENT,
    needs=("apps", "workspace"),
    effect="write",
    probe=_was_created,
    sends=Sends.NOWHERE,
    own_files=OwnFiles(replaces=_project),
)
async def create_app_project(
    call: Call, template: Annotated[Template, f"What it begins with. {TOLD}"] = "static"
) -> Reply:
    """Begins a web app: a small project that works as it is, in the folder app of the workspace.

    Then change its files (app_write_file), and show it (app_start_server). Nothing has to be installed for it.
    """
    files = await call.providers.apps.create(call.about, template, by=call.agent_name, key=call.key)
    for file in files:
        call.emit(updated(file))
    starter = STARTERS[template]
    listed = "\n".join(f"- {file.path.removeprefix('app/')} ({file.size_bytes:,} bytes)" for file in files)
    return Reply(
        content=f"The project was begun with:\n{listed}\nIts server is started by: {starter.command}",
        data={"template": template, "command": starter.command, "files": [file.path for file in files]},
    )


async def _stands_there(call: Call, path: str, **_: Any) -> bool | None:
    return await call.providers.workspace.was_written(call.about, in_workspace(path), call.key, scope="conversation")


def _file(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("conversation", in_workspace(arguments["path"])),)


@tool(
    label=gettext_noop("Write a file of an app"),
    agents=ANY_AGENT,
    needs=("apps", "workspace"),
    effect="write",
    probe=_stands_there,
    sends=Sends.NOWHERE,
    own_files=OwnFiles(replaces=_file),
)
async def app_write_file(
    call: Call,
    path: Annotated[str, "From the project's folder on, such as src/list.js", Field(min_length=1, max_length=400)],
    content: Annotated[str, "The whole new text", Field(max_length=200_000)],
) -> Reply:
    """Writes a file of the app's project; what it had before is replaced. A server that is running may have to be
    started again to see it."""
    file: StoredFile = await call.providers.apps.write(call.about, path, content, by=call.agent_name, key=call.key)
    call.emit(updated(file))
    return Reply(content=f"{file.path} was written ({file.size_bytes:,} bytes).", data=file)


@tool(
    label=gettext_noop("Install packages for an app"),
    agents=ANY_AGENT,
    needs=("apps",),
    requires_approval=True,
    timeout_s=300,
    untrusted=True,
    sends=Sends.NETWORK,
)
async def app_install_packages(
    call: Call,
    packages: Annotated[
        tuple[Package, ...], "Names, with versions where they matter", Field(min_length=1, max_length=40)
    ],
    manager: Annotated[Literal["npm", "pip"], "Whose packages they are"] = "npm",
) -> Reply:
    """Sees that the app has these packages, of those that an administrator installed for the sandbox: it has no network
    of its own. Says which are there, and what to tell the user of the others. Do without, if it can be done."""
    done = await call.providers.apps.install(call.about, packages, manager=manager)
    names = ", ".join(done.packages)
    head = f"The app has {names}." if done.installed else f"{names} could not be installed. {NOT_INSTALLED}"
    return Reply(content=f"{head}\n{done.said}", data=done)


@tool(
    label=gettext_noop("Start an app"),
    agents=ANY_AGENT,
    needs=("apps",),
    requires_approval=True,
    timeout_s=150,
    untrusted=True,
    preview=previews.command,
    sends=Sends.NETWORK,
)
async def app_start_server(
    call: Call,
    title: Annotated[str, "What the app is called, for people", Field(min_length=1, max_length=200)],
    command: Annotated[
        str,
        "A line of a shell, run in the project's folder; it listens at $PORT",
        Field(min_length=1, max_length=2_000),
    ],
    port: Annotated[int, "Where it listens", Field(ge=1024, le=65_535)] = PORT,
) -> Reply:
    """Starts the app's server, or starts it again, and shows the user its preview. If it does not come up, what it
    wrote says why: mend the files and start it again."""
    call.emit(TerminalCommand(command=command))
    started = await call.providers.apps.start(call.about, title=title, command=command, port=port)
    if not started.running:
        call.emit(TerminalError(content=started.said))
        call.emit(TerminalComplete(note=started.note))
        return Reply(content=f"{started.note} It wrote:\n{started.said or 'nothing'}", data=started)
    call.emit(AppPreview(url=started.url, title=title, port=port))
    return Reply(content=f"The app runs at port {port}; the user can open its preview.", data=started)
