"""What reports are made with, of the commands and of the conformance kit: text, pages, files."""
