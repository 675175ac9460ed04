"""The command line: one file per verb. Results go to stdout, everything else to stderr."""
