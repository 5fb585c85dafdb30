"""Web apps that agents build: a project of files in the conversation's workspace, a server in its box, and a preview on
an origin of its own. `proxy` shows it, `own` builds and starts it, `starters` are what projects begin with."""
