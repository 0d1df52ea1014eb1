"""Airflow's own simple auth manager, which `mqops_airflow.roles` narrows: in the API server."""

from __future__ import annotations

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

__all__ = ["SimpleAuthManager"]
