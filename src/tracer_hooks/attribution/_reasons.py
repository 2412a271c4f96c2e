"""Why an attributor abstains."""

NO_FAULT = "no fault found"
"""Nothing speaks clearly enough for a fault; for runs that are not known to have failed."""
ENVIRONMENT = "environment fault"
"""The run ended on something outside the team, such as a model endpoint that could not be reached."""
INCOMPLETE = "trace too incomplete"
"""There is no step with anything in it to judge."""
