"""What all commands share: options, progress, interruption, errors as one line, exit codes."""
