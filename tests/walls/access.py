"""Who may do what: the table that the matrix holds the whole site to. An address, a page of the admin or a word on a
socket that has no line here fails a test, and so does a line that is about nothing.

Each line: the address as the resolver writes it, who may, and by which methods. HEAD goes with GET, OPTIONS is
everybody's; whatever method is not named, nobody may.

    everyone  without signing in          owner   whose it is; for all others it is as one that does not exist
    person    whoever is signed in        role    reviewers, auditors and administrators
    token     programs that show a token  staff   administrators          rights  whom Django's own permissions let in
    none      nobody

    FORM: GET and POST.  ANY: whatever the method, the answer is the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SHORT: Final = {"FORM": ("GET", "POST"), "ANY": METHODS}
WHO: Final = {"everyone", "person", "token", "owner", "role", "reviewer", "auditor", "staff", "rights", "none"}

ROUTES: Final = """
/healthz                                                                   everyone      GET
/readyz                                                                    everyone      GET
/metrics                                                                   everyone      GET
/accounts/password/reset/done/                                             everyone      GET
/accounts/password/reset/complete/                                         everyone      GET
/accounts/login/                                                           everyone      ANY
/accounts/login/second/                                                    everyone      ANY
/accounts/login/passkey/                                                   everyone      POST
/accounts/login/passkey/ask/                                               everyone      POST
/accounts/sso/                                                             everyone      GET
/accounts/sso/callback/                                                    everyone      GET
/accounts/logout/                                                          everyone      POST
/accounts/register/                                                        everyone      ANY
/accounts/invited/                                                         everyone      ANY
/accounts/invited/<str:word>/                                              everyone      GET
/accounts/password/reset/                                                  everyone      FORM
/accounts/password/reset/<uidb64>/<token>/                                 everyone      ANY
/accounts/password/change/                                                 everyone      ANY
/accounts/profile/                                                         everyone      ANY
/accounts/tokens/                                                          everyone      ANY
/accounts/tokens/<uuid:token_id>/revoke/                                   everyone      ANY
/settings/                                                                 person        GET
/settings/profile/                                                         person        FORM
/settings/appearance/                                                      person        FORM
/settings/language/                                                        person        FORM
/settings/security/                                                        person        FORM
/settings/security/sign-ins/others/end/                                    person        POST
/settings/security/sign-ins/<uuid:sign_in_id>/end/                         owner         POST
/settings/security/confirm/                                                person        FORM
/settings/security/confirm/passkey/                                        person        POST
/settings/security/confirm/passkey/ask/                                    person        POST
/settings/security/second-factor/                                          person        GET
/settings/security/second-factor/app/                                      person        FORM
/settings/security/second-factor/passkey/                                  person        GET POST
/settings/security/second-factor/codes/                                    person        POST
/settings/security/second-factor/<int:factor_id>/remove/                   owner         POST
/settings/security/sign-on/<uuid:identity_id>/unlink/                      owner         POST
/people/                                                                   staff         GET
/people/<uuid:person_id>/                                                  staff         GET POST
/people/<uuid:person_id>/projects/                                         staff         GET POST
/people/groups/                                                            staff         GET POST
/people/groups/<int:group_id>/                                             staff         GET POST
/people/invitations/                                                       staff         GET POST
/people/invitations/<uuid:invitation_id>/                                  staff         POST
/people/service-accounts/                                                  staff         GET
/people/service-accounts/new/                                              staff         GET POST
/people/service-accounts/<uuid:service_id>/                                staff         GET POST
/settings/connections/                                                     person        GET
/settings/tokens/                                                          person        FORM
/settings/tokens/<uuid:token_id>/revoke/                                   owner         POST
/settings/data/                                                            person        GET
/settings/data/export/                                                     person        POST
/settings/data/export/<uuid:export_id>/                                    owner         GET
/settings/data/delete/                                                     person        FORM
/settings/webhooks/                                                        person        FORM
/settings/webhooks/<uuid:endpoint_id>/                                     owner         FORM
/settings/webhooks/<uuid:endpoint_id>/test/                                owner         POST
/settings/webhooks/<uuid:endpoint_id>/enable/                              owner         POST
/settings/webhooks/<uuid:endpoint_id>/disable/                             owner         POST
/settings/webhooks/<uuid:endpoint_id>/delete/                              owner         POST
/settings/webhooks/deliveries/<uuid:delivery_id>/again/                    owner         POST
/settings/notifications/                                                   person        FORM
/settings/mcp/                                                             person        FORM
/settings/mcp/program/                                                     staff         FORM
/settings/mcp/signed-in/                                                   person        GET
/settings/mcp/<uuid:server_id>/sign-in/                                    owner         POST
/settings/mcp/<uuid:server_id>/                                            owner         FORM
/settings/mcp/<uuid:server_id>/connect/                                    owner         POST
/settings/mcp/<uuid:server_id>/enable/                                     owner         POST
/settings/mcp/<uuid:server_id>/disable/                                    owner         POST
/settings/mcp/<uuid:server_id>/review/                                     owner         POST
/settings/mcp/<uuid:server_id>/delete/                                     owner         POST
/mail/                                                                     person        GET POST
/mail/servers/                                                             person        GET
/mail/gmail/                                                               person        GET
/mail/gmail/callback/                                                      person        GET
/mail/<uuid:account_id>/                                                   owner         POST
/mail/<uuid:account_id>/again/                                             owner         GET POST
/mail/<uuid:account_id>/gmail/                                             owner         GET
/previews/<uuid:app_id>/                                                   owner         GET
/usage/                                                                    person        GET
/usage/file                                                                person        GET
/usage/budgets/                                                            staff         FORM
/usage/budgets/<int:budget_id>/end/                                        staff         POST
/usage/prices/                                                             staff         FORM
/usage/prices/back/                                                        staff         POST
/browser/<uuid:conversation_id>/                                           owner         GET
/browser/<uuid:conversation_id>/frame.jpg                                  owner         GET
/api/v1/auth/token                                                         everyone      POST
/api/v1/auth/tokens                                                        person        GET
/api/v1/auth/tokens/<uuid:token_id>                                        owner         GET DELETE
/api/v1/me                                                                 person        GET
/api/v1/people                                                             staff         GET
/api/v1/people/<uuid:person_id>                                            staff         GET PATCH
/api/v1/people/<uuid:person_id>/deactivate                                 staff         POST
/api/v1/people/<uuid:person_id>/activate                                   staff         POST
/api/v1/groups                                                             staff         GET POST
/api/v1/groups/<int:group_id>                                              staff         GET PATCH DELETE
/api/v1/invitations                                                        staff         GET POST
/api/v1/invitations/<uuid:invitation_id>                                   staff         GET DELETE
/api/v1/invitations/<uuid:invitation_id>/send                              staff         POST
/api/v1/service-accounts                                                   staff         GET POST
/api/v1/service-accounts/<uuid:service_id>                                 staff         GET PATCH
/api/v1/service-accounts/<uuid:service_id>/tokens                          staff         GET POST
/api/v1/service-accounts/<uuid:service_id>/tokens/<uuid:service_token_id>  staff         DELETE
/api/v1/service-accounts/<uuid:service_id>/tokens/<uuid:service_token_id>/rotate  staff  POST
/api/v1/audit                                                              auditor staff GET
/api/v1/audit/export                                                       auditor staff GET
/api/v1/audit/stream                                                       auditor staff GET
/api/v1/webhooks                                                           person        GET POST
/api/v1/webhooks/<uuid:endpoint_id>                                        owner         GET PATCH DELETE
/api/v1/webhooks/<uuid:endpoint_id>/deliveries                             owner         GET
/api/v1/webhooks/<uuid:endpoint_id>/test                                   owner         POST
/api/v1/webhooks/deliveries/<uuid:delivery_id>/redeliver                   owner         POST
/api/v1/query                                                              person        POST
/api/v1/query/stream                                                       person        POST
/api/v1/executions/<uuid:execution_id>/retry                               owner         POST
/api/v1/executions/<uuid:execution_id>/fork                                owner         POST
/api/v1/conversations                                                      person        GET POST
/api/v1/conversations/<uuid:conversation_id>                               owner         GET PATCH DELETE
/api/v1/conversations/<uuid:conversation_id>/messages                      owner         GET POST
/api/v1/conversations/<uuid:conversation_id>/export                        owner         GET
/api/v1/conversations/<uuid:conversation_id>/share                         owner         GET POST DELETE
/api/v1/conversations/<uuid:conversation_id>/share/<uuid:share_id>         owner         DELETE
/api/v1/search/all                                                         person        GET
/api/v1/projects/<uuid:project_id>/conversations                           owner         GET
/api/v1/messages/<uuid:message_id>/retry                                   owner         POST
/api/v1/agents                                                             person        GET
/api/v1/agents/tree                                                        person        GET
/api/v1/agents/<uuid:agent_id>                                             owner         GET
/api/v1/agents/<uuid:agent_id>/intervene                                   owner         POST
/api/v1/agent/tree                                                         person        GET
/api/v1/agent/<uuid:agent_id>                                              owner         GET
/api/v1/agent/<uuid:agent_id>/intervene                                    owner         POST
/api/v1/search                                                             person        POST
/api/v1/usage                                                              person        GET
/api/v1/budgets                                                            person        GET
/api/v1/budgets/all                                                        staff         GET PUT
/api/v1/budgets/<int:budget_id>                                            staff         DELETE
/api/v1/executions                                                         person        GET
/api/v1/executions/<uuid:execution_id>                                     owner         GET
/api/v1/executions/<uuid:execution_id>/events                              owner         GET
/api/v1/executions/<uuid:execution_id>/events/<int:seq>/result             owner         GET
/api/v1/executions/<uuid:execution_id>/cancel                              owner         POST
/api/v1/executions/<uuid:execution_id>/steer                               owner         POST
/api/v1/hitl/requests                                                      person        GET
/api/v1/hitl/requests/<uuid:request_id>                                    owner         GET
/api/v1/hitl/respond                                                       person        POST
/api/v1/hitl/respond/bulk                                                  person        POST
/api/v1/hitl/rules                                                         person        GET
/api/v1/hitl/rules/preview                                                 person        POST
/api/v1/hitl/rules/<uuid:rule_id>                                          owner staff   DELETE
/api/v1/hitl/switches                                                      staff         GET POST
/api/v1/hitl/switches/<uuid:switch_id>                                     staff         DELETE
/api/v1/documents                                                          person        GET POST
/api/v1/upload                                                             person        POST
/api/v1/documents/<uuid:document_id>                                       owner         GET PATCH DELETE
/api/v1/documents/<uuid:document_id>/chunks                                owner         GET
/api/v1/documents/<uuid:document_id>/pages                                 owner         GET
/api/v1/documents/<uuid:document_id>/file                                  owner         GET
/api/v1/documents/<uuid:document_id>/pages/<int:number>/image              owner         GET
/api/v1/documents/<uuid:document_id>/cancel                                owner         POST
/api/v1/documents/<uuid:document_id>/again                                 owner         POST
/api/v1/files                                                              person        GET
/api/v1/files/<workspace_scope:scope>/<uuid:scope_id>                      owner         GET
/api/v1/files/<workspace_scope:scope>/<uuid:scope_id>/                     owner         GET
/api/v1/files/<workspace_scope:scope>/<uuid:scope_id>/<path:path>          owner         GET PUT DELETE
/api/v1/file-versions/<workspace_scope:scope>/<uuid:scope_id>/<path:path>  owner         GET POST
/api/v1/file-moves/<workspace_scope:scope>/<uuid:scope_id>/<path:path>     owner         POST
/api/v1/memory                                                             person        GET PATCH DELETE
/api/v1/memory/export                                                      person        GET
/api/v1/memory/<uuid:memory_id>                                            owner         GET PATCH DELETE
/api/v1/projects                                                           person        GET POST
/api/v1/projects/<uuid:project_id>                                         owner         GET PATCH DELETE
/api/v1/projects/<uuid:project_id>/members                                 owner         GET POST
/api/v1/projects/<uuid:project_id>/members/<uuid:member_id>                owner         DELETE
/api/v1/projects/<uuid:project_id>/documents                               owner         GET POST
/api/v1/projects/<uuid:project_id>/documents/<uuid:document_id>            owner         DELETE
/api/v1/connectors                                                         person        GET POST
/api/v1/connectors/<uuid:connector_id>                                     owner         GET PATCH DELETE
/api/v1/connectors/<uuid:connector_id>/look                                owner         POST
/api/v1/connectors/<uuid:connector_id>/items                               owner         GET
/api/v1/schedules                                                          person        GET POST
/api/v1/schedules/<uuid:schedule_id>                                       owner         GET PATCH DELETE
/api/v1/schedules/<uuid:schedule_id>/pause                                 owner         POST
/api/v1/schedules/<uuid:schedule_id>/resume                                owner         POST
/api/v1/schedules/<uuid:schedule_id>/run                                   owner         POST
/api/v1/schedules/<uuid:schedule_id>/runs                                  owner         GET
/api/v1/ag-ui                                                              person        POST
/api/schema/                                                               person        GET
/api/docs/                                                                 person        GET
/api/v1/agent/stream                                                       token         GET
/api/schema/events/                                                        everyone      GET
/api/schema                                                                everyone      GET
/api/docs                                                                  everyone      GET
/api/schema/events                                                         everyone      GET
/api/<path:rest>                                                           none
/v1/models                                                                 person        GET
/v1/models/<path:name>                                                     person        GET
/v1/chat/completions                                                       person        POST
/v1/<path:rest>                                                            none
/mcp                                                                       token         POST
/mcp/                                                                      token         POST
/.well-known/agent-card.json                                               everyone      GET
/a2a                                                                       token         POST
/a2a/                                                                      token         POST
/inbox/                                                                    person        GET
/inbox/<uuid:request_id>/                                                  owner         GET
/rules/                                                                    person        GET
/rules/<uuid:rule_id>/revoke/                                              owner         POST
/documents/                                                                person        GET
/documents/search/                                                         person        GET
/documents/<uuid:document_id>/                                             owner         GET
/documents/<uuid:document_id>/pages/                                       owner         GET
/files/                                                                    person        GET
/files/<workspace_scope:scope>/<uuid:scope_id>/                            owner         GET
/files/<workspace_scope:scope>/<uuid:scope_id>/<path:path>                 owner         GET
/memory/                                                                   person        GET
/memory/export/                                                            person        GET
/memory/switch/                                                            person        POST
/memory/forget/                                                            person        POST
/memory/<uuid:memory_id>/correct/                                          owner         POST
/memory/<uuid:memory_id>/pin/                                              owner         POST
/memory/<uuid:memory_id>/accept/                                           owner         POST
/memory/<uuid:memory_id>/forget/                                           owner         POST
/projects/                                                                 person        GET POST
/projects/<uuid:project_id>/                                               owner         GET POST
/projects/<uuid:project_id>/delete/                                        owner         POST
/projects/<uuid:project_id>/members/                                       owner         POST
/projects/<uuid:project_id>/members/<uuid:member_id>/remove/               owner         POST
/projects/<uuid:project_id>/owner/                                         owner         POST
/projects/<uuid:project_id>/documents/                                     owner         POST
/projects/<uuid:project_id>/documents/<uuid:document_id>/remove/           owner         POST
/schedules/                                                                person        GET
/schedules/new/                                                            person        GET POST
/schedules/times/                                                          person        POST
/schedules/<uuid:schedule_id>/                                             owner         GET POST
/schedules/<uuid:schedule_id>/edit/                                        owner         GET POST
/connectors/                                                               person        GET POST
/connectors/<uuid:connector_id>/                                           owner         POST
/                                                                          person        GET
/c/<uuid:conversation_id>/                                                 owner         GET
/search/                                                                   person        GET
/s/<str:token>/                                                            everyone      GET
/s/<str:token>/continue/                                                   person        GET POST
/admin/                                                                    role          GET POST
/admin/jobs/                                                               staff         GET POST
/admin/login/                                                              everyone      ANY
/admin/logout/                                                             everyone      ANY
/admin/password_change/                                                    role          ANY
/admin/password_change/done/                                               role          GET
/admin/jsi18n/                                                             role          GET
/admin/autocomplete/                                                       none
/admin/r/<path:content_type_id>/<path:object_id>/                          none
/admin/accounts/user/<id>/password/                                        rights        GET POST
/admin/agents/verdict/<int:verdict_id>/feedback/                           rights        POST
/admin/hitl/decision/export.<str:form>                                     auditor staff ANY
/admin/audit/auditevent/export.<str:audit_form>                            auditor staff ANY
/admin/<app_label>/                                                        role          ANY
/admin/<url>                                                               none
"""

# Who may open a socket, and what may be said on it.
SOCKETS: Final = """
ws/conversations/<conversation_id>/   owner    say cancel steer intervene respond ack ping
ws/inbox/                             person   cancel steer intervene respond ack ping
"""

# Of each table that the admin has pages for: who may look at its lists and rows, and who may do what else. A star:
# they see the list, and in it only what is theirs; another's row is as one that does not exist.
ADMIN: Final = """
accounts.ApiToken            look: rights
accounts.LoginAttempt        look: rights
accounts.ProviderIdentity    look: rights
mfa.Authenticator            look: staff
accounts.Budget              look: staff           add: staff   change: staff   delete: staff
accounts.Purse               look: staff
accounts.User                look: staff           add: rights  change: rights  delete: staff
accounts.UserQuota           look: staff           add: staff   change: staff   delete: staff
admin.LogEntry               look: auditor staff
accounts.Letter              look: staff
agents.AgentExecution        look: staff
agents.AgentTuning           look: auditor staff   add: staff   change: staff   delete: staff
agents.App                   look: staff
agents.Effect                look: staff
agents.Event                 look: staff
agents.Execution             look: staff
agents.Intervention          look: staff
agents.MailAccount           look: staff
agents.McpServer             look: staff
agents.McpTool               look: staff
agents.ModelCall             look: staff
agents.ModelPrice            look: staff           add: staff
agents.Runner                look: staff
agents.SandboxSession        look: staff
agents.SandboxSnapshot       look: staff
agents.Step                  look: staff
audit.AuditEvent             look: auditor staff
auth.Group                   look: rights          add: rights  change: rights  delete: rights
agents.Verdict               look: auditor staff
conversations.Conversation   look: staff
conversations.Message        look: staff
conversations.Share          look: staff
conversations.Schedule       look: staff
conversations.ScheduledRun   look: staff
hitl.Decision                look: auditor staff
hitl.Policy                  look: staff           add: staff   change: staff   delete: staff
hitl.Request                 look: reviewer* auditor staff
hitl.Rule                    look: auditor staff
hitl.RuleUse                 look: auditor staff
hitl.Switch                  look: auditor staff   add: staff
memory.Connector             look: staff
memory.ConnectorItem         look: staff
memory.Document              look: staff
memory.EmbeddingModel        look: staff
memory.Project               look: staff
memory.WorkspaceFile         look: staff
notices.Delivery             look: staff
notices.Endpoint             look: staff
notices.Mail                 look: staff
"""

# What each may do with rows that they chose in a list, where it is more than to look.
ACTIONS: Final = """
reviewer:      hitl.Request=approve,deny
auditor:       hitl.Request=approve,deny
administrator: hitl.Request=approve,deny hitl.Policy=delete_selected hitl.Rule=revoke hitl.Switch=lift
administrator: notices.Delivery=send_again conversations.Share=revoke
administrator: accounts.Budget=delete_selected accounts.User=delete_selected accounts.UserQuota=delete_selected
"""

# Columns of text that the admin shows of other people's rows without the permission to read what they say: what kind
# of thing it is, how it went, where it runs. Whatever is not here may stand on no page.
SHOWN_TO_STAFF: Final = """
accounts.Invitation: email
accounts.Letter: last_error
accounts.Purse: whose
agents.AgentExecution: agent_name error lineage step_id
agents.App: started
agents.Effect: key tool
agents.Event: type
agents.Execution: error_code error_message leased_by mode on_finish pipeline tuning
agents.Intervention: client_id
agents.MailAccount: address display_name imap_host smtp_host trouble
agents.McpServer: agents folder name secret_names
agents.McpTool: called name pin reviewed_pin
agents.ModelCall: agent_name model provider
agents.ModelPrice: model
agents.Runner: host name version
agents.SandboxSession: host key note provider
agents.SandboxSnapshot: sha256
agents.Step: effect_key name usage
auth.Group: name
conversations.Message: client_id mode
conversations.Schedule: mode
memory.ConnectorItem: digest
memory.Document: delay doc_type note reason
memory.EmbeddingModel: name problem
memory.WorkspaceFile: media_type sha256
notices.Delivery: event_id
notices.Endpoint: disabled_why
notices.Mail: last_error path subject_id
hitl.Policy: agent_name name tool
"""
# Of requests and standing rules, for administrators and auditors: what was allowed for good is what they have to know.
SHOWN_OF_DECISIONS: Final = """
agents.AgentTuning: model
agents.Verdict: agent_name kind reason scanner tool
audit.AuditEvent: actor_name address browser details kind request_id target_id target_name target_type
hitl.Decision: actor_name
hitl.Request: agent_name arguments_hash tool_names
hitl.Rule: agent_name conditions text tool
hitl.RuleUse: agent_name arguments_hash call_key tool
hitl.Switch: reason target
admin.LogEntry: change_message object_id object_repr
contenttypes.ContentType: model
"""
# Auditors read what was asked and decided: it is what they are for.
SHOWN_TO_AUDITORS: Final = """
agents.Verdict: excerpt
hitl.Decision: details note
hitl.Request: answer question task_description user_instructions
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """`who`: the words of the table. `methods`: those that they may use."""

    route: str
    who: frozenset[str]
    methods: tuple[str, ...]


def rules() -> dict[str, Rule]:
    """By the address."""
    found: dict[str, Rule] = {}
    for line in ROUTES.strip().splitlines():
        route, *words = line.split()
        who = frozenset(word for word in words if word in WHO)
        named = [word for word in words if word not in WHO]
        assert who, line
        assert set(named) <= {*METHODS, *_SHORT}, line
        assert route not in found, f"{route} has two lines"
        methods = tuple(method for word in named for method in _SHORT.get(word, (word,)))
        found[route] = Rule(route, who, methods)
    return found


def admin_rules() -> dict[str, dict[str, frozenset[str]]]:
    """By the table's label: what, and who may."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for line in ADMIN.strip().splitlines():
        label, *words = line.split()
        may: dict[str, set[str]] = {}
        for word in words:
            if word.endswith(":"):
                may[(doing := word[:-1])] = set()
            else:
                may[doing].add(word)
        found[label] = {doing: frozenset(who) for doing, who in may.items()}
    return found


def socket_rules() -> dict[str, Rule]:
    """By the address."""
    lines = [line.split() for line in SOCKETS.strip().splitlines()]
    return {route: Rule(route, frozenset({who}), tuple(words)) for route, who, *words in lines}


def action_rules() -> dict[str, dict[str, set[str]]]:
    """By who, and the table's label."""
    found: dict[str, dict[str, set[str]]] = {}
    for line in ACTIONS.strip().splitlines():
        who, *tables = line.split()
        may = dict(table.split("=") for table in tables)
        found.setdefault(who.removesuffix(":"), {}).update({label: set(acts.split(",")) for label, acts in may.items()})
    return found


def columns(*tables: str) -> set[str]:
    """`agents.Event.type` and so on."""
    return set(_columns(tables))


def _columns(tables: tuple[str, ...]) -> Iterator[str]:
    for table in tables:
        for line in table.strip().splitlines():
            label, names = line.split(": ")
            yield from (f"{label}.{name}" for name in names.split())
