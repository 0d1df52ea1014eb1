"""Check a run's snapshot against suites of expectations. Touches no queue and needs no connection."""

import sys

from mqops.jobs.quality import main
from mqops.spark_job import run

if __name__ == "__main__":
    sys.exit(run(main))
