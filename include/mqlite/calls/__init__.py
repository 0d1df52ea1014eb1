"""The MQI calls on queues: MQOPEN, MQCLOSE, MQPUT, MQGET, MQINQ, MQSET."""
