"""The modules of `envlogger.backends` that programs import."""
