"""mqops inside Airflow: the connection type `mq`, operators, forms, assets. MQ libraries are imported by tasks only."""
