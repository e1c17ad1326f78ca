"""The subcommands of the command line, one module each, with what they show."""
