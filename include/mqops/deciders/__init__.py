"""Deciders: each makes a workflow of the steps that every run has (`mqops.deciders.run`). `registry` lists them."""
