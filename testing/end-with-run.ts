// In every process of the tests: when the run is ended from outside (Ctrl-C, SIGTERM), it ends too, and what it has started
// ends with it.
process.once('disconnect', () => process.exit(1))
