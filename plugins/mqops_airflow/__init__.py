"""mqops inside Airflow: the connection type `mq`, operators, forms, assets. MQ libraries are imported by tasks only.

For DAG files of your own:

    from mqops_airflow import estate_dags
    globals().update(estate_dags("estate.yaml"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqops_airflow.dag_files.of_estate import estate_dags

__all__ = ["estate_dags"]


def __getattr__(name: str) -> Any:
    """`estate_dags`, imported when it is asked for: Airflow also imports this package for its list of connections."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mqops_airflow.dag_files import of_estate  # noqa: PLC0415

    return getattr(of_estate, name)
