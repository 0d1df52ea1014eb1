"""Decide what is to become of each message of a run's snapshot: RUN/plan and RUN/plan.json."""

import sys

from mqops.jobs.decide import main
from mqops.spark_job import run

if __name__ == "__main__":
    sys.exit(run(main))
