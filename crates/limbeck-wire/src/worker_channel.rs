//! A worker's end of its channel, as the launcher hands it to the engine.

/// One socket, read and written as a file: the sandbox allows a worker only plain `read` and `write`, and neither can
/// transfer a descriptor or an address.
#[cfg(target_os = "linux")]
pub type WorkerChannel = std::fs::File;

#[cfg(not(target_os = "linux"))]
pub use pipes::WorkerChannel;

#[cfg(not(target_os = "linux"))]
mod pipes {
    use std::fs::File;
    use std::io::{self, Read, Write};

    /// Two pipes, one for each direction, which every operating system can pass to a new process.
    #[derive(Debug)]
    pub struct WorkerChannel {
        /// What the gateway writes.
        pub input: File,
        /// What the gateway reads.
        pub output: File,
    }

    impl Read for WorkerChannel {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.input.read(bytes)
        }
    }

    impl Write for WorkerChannel {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.output.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.output.flush()
        }
    }
}
