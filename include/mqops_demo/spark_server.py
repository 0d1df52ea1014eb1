"""What spark-submit runs as the Spark Connect server: Spark with its Connect plugin, until the JVM ends.

`mqops_demo.spark_connect` and docker-compose.yml start it, and give all settings. The JVM is the parent process and
holds this one's standard input: when the JVM ends, however it ends, this process ends, too.

Arguments, if there are any: a file, into which it writes the port on which Spark listens; a FIFO. What is written there
says that no client is left, and what clients have had Spark keep (`mqops.spark_job.cached`) is given up. Spark itself
keeps it until the JVM ends: its cache belongs to no session (SPARK-50569).
"""

import os
import select
import sys
from pathlib import Path

from pyspark.sql import SparkSession

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    # Clients cannot ask for it, but for settings (`mqops.act.spark.act`): each would run a job to find it out.
    spark.sparkContext._jsc.sc().conf().set("spark.default.parallelism", str(spark.sparkContext.defaultParallelism))
    for file in map(Path, sys.argv[1:2]):
        package = spark.sparkContext._jvm.org.apache.spark.sql.connect.service
        service = getattr(getattr(package, "SparkConnectService$"), "MODULE$")  # the object of Scala
        draft = file.with_suffix(".new")
        draft.write_text(str(service.localPort()))
        draft.replace(file)
    told = [os.open(fifo, os.O_RDWR) for fifo in sys.argv[2:]]
    while sys.stdin not in select.select([sys.stdin, *told], [], [])[0]:
        os.read(told[0], 4096)
        try:
            spark.catalog.clearCache()
        except Exception as error:  # Spark serves on, and keeps it until the next client has gone
            print(f"Spark does not give up what clients have had it keep: {error}", file=sys.stderr, flush=True)
