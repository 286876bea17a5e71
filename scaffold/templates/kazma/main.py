"""{{name}}: the entry point that skill_manifest.yaml names."""


class {{class}}:
    """Created without arguments when the skill is loaded."""

    def run(self, request: str) -> str:
        """Answer one request. Replace the body with what the skill does."""
        return f"{{name}} received: {request}"
