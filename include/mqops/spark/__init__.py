"""The operations on Spark: schemas, rules as column expressions, deciding. The core never imports this."""
