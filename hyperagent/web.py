"""The web server, `python -m hyperagent.web … hyperagent.asgi:application`: Daphne with Daphne's arguments, without
what it would load for servers that speak more than this one does. It has no TLS of its own.
"""

from hyperagent.lib.bare_imports import UNCALLED, WEB, hollow, import_bare

if __name__ == "__main__":
    with hollow(UNCALLED):
        import_bare(WEB)
    from daphne.cli import CommandLineInterface

    from hyperagent.paced_answers import PacedServer

    CommandLineInterface.server_class = PacedServer
    CommandLineInterface.entrypoint()
