"""Topics and subscriptions: MQSUB, and MQPUT to a topic."""
