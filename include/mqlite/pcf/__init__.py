"""The PCF command server: PCF parameters → Request, Response → PCF parameters, and the queue in front of it."""
