// Node opens its inspector to whoever sends SIGUSR1, and the inspector may do anything. A listener that does nothing takes
// that away, in the primary process and in its workers. The start commands also say `--disable-sigusr1`, for the moment
// before this file is read.
process.on('SIGUSR1', () => undefined)

export {}
