"""Bytes of IBM MQ: structures, headers, PCF, character sets, constants. Knows no queue and nothing above it."""
