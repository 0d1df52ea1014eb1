"""`python -m mqops_demo.api_server DESCRIPTOR api-server ...`: Airflow's API server on a socket that listens already.

Airflow's own command binds the port itself, seconds after it was started: another user could be faster, and would get
the passwords and tokens of whoever talks to Airflow. It has no option for an inherited socket; uvicorn has.
"""

from __future__ import annotations

import sys
from functools import partial

import uvicorn


def main() -> None:
    descriptor = int(sys.argv.pop(1))
    uvicorn.run = partial(uvicorn.run, fd=descriptor)
    from airflow.__main__ import main as airflow  # noqa: PLC0415 - it takes what uvicorn is now

    airflow()


if __name__ == "__main__":
    main()
