"""The command line: one file for each command; each parses, calls one library function, prints."""

from cpgnn.cli.app import main

__all__ = ["main"]
