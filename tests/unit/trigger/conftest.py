"""Fixtures of the tests of triggering."""

from mqlite_support import application, home

__all__ = ["application", "home"]
