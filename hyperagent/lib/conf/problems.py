"""What is wrong with the settings, for people."""


class BadConfig(Exception):
    """The environment holds values that cannot be read; `problems` has one sentence for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)

    def text(self) -> str:
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        return f"HyperAgent cannot start, because of its settings (environment or .env; see .env.example):\n{lines}"
