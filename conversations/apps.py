"""The conversations app's registration, and what it tells the apps below of itself."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Models can be imported from here on, not before.
        from conversations.file_rule import OwnConversations
        from hitl import talks
        from hyperagent.accounts.personal import register
        from hyperagent.lib import clocks
        from memory.workspaces.places import conversations_are

        conversations_are(OwnConversations())
        talks.conversations_are(OwnConversations().still_there)
        register("conversations.personal_part.ConversationsPart")
        clocks.register("conversations.schedules.clock.CLOCK")
