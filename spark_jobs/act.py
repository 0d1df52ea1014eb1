"""Act on a run's plan, or finish what an earlier execution began. The connection comes from MQOPS_CONNECTION."""

import sys

from mqops.jobs.act import main
from mqops.spark_job import run

if __name__ == "__main__":
    sys.exit(run(main))
