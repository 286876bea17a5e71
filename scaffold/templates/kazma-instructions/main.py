"""{{name}}: hands the instructions of this skill to whoever loads it."""

from pathlib import Path


class {{class}}:
    """Created without arguments when the skill is loaded."""

    def instructions(self) -> str:
        """The text that an agent follows."""
        return (Path(__file__).parent / "instructions.md").read_text(encoding="utf-8")

    def run(self, request: str) -> str:
        """Answer a request with the instructions for it."""
        return f"{self.instructions()}\n\nRequest: {request}\n"
