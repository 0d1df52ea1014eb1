"""Browse queues so that the queue manager discards what has expired: RUN/expiry.json."""

import sys

from mqops.jobs.expiry import main
from mqops.spark_job import run

if __name__ == "__main__":
    sys.exit(run(main))
