"""Gates and tasks: the compiled engine for services, in-process."""
