"""What hatchling does besides when it makes the wheel: writes down the commit (`mqops --version`)."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Adds `mqops/commit.txt`, where the sources are a git repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is made. Parameters: `version` of the build: standard, or editable."""
        if version != "standard" or not (Path(self.root) / ".git").exists():
            return
        asked = ["git", "-C", self.root, "rev-parse", "--short=12", "HEAD"]
        try:
            commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return
        self._folder = tempfile.TemporaryDirectory()
        place = Path(self._folder.name) / "commit.txt"
        place.write_text(commit + "\n")
        build_data["force_include"][str(place)] = "mqops/commit.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when it is made."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
