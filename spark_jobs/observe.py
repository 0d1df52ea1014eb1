"""Take a run's snapshot. The connection comes from MQOPS_CONNECTION."""

import sys

from mqops.jobs.observe import main
from mqops.spark_job import run

if __name__ == "__main__":
    sys.exit(run(main))
