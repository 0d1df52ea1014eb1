"""The plugin, for an Airflow that has this folder as its plugins folder and mqops on its path but not installed.

Where mqops is installed its entry point brings the plugin, and a second one of the same name would be an import error.
"""

from importlib.metadata import entry_points

if not entry_points(group="airflow.plugins", name="mqops"):
    from mqops_airflow.plugin import MqopsPlugin  # noqa: F401
