"""Data quality of messages: suites as data, run on snapshots by Great Expectations and Spark.

    suites = load_suites(["include/expectations/messages.yaml"])
    summary = check(spark, QualityFiles.of(run_folder), suites, now=utc_now())
    verdict(summary)                                    raises QualityFailed where a critical expectation failed

`suite_file` and `summary` need neither Spark nor Great Expectations.
"""
