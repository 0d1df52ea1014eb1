"""Who is asking, and what that user may do: in the API server."""

from __future__ import annotations

from airflow.api_fastapi.app import get_auth_manager, init_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.core_api.security import bearer_scheme, get_user

__all__ = [
    "BaseUser",
    "DagAccessEntity",
    "DagDetails",
    "ResourceMethod",
    "SimpleAuthManagerUser",
    "bearer_scheme",
    "get_auth_manager",
    "get_user",
    "init_auth_manager",
]
