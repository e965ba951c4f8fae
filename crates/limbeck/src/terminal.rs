//! The controlling terminal, where a person answers. Standard input is not it: it may be a program or data, and what is in
//! it approves nothing.

use std::io::IsTerminal as _;

#[cfg(unix)]
pub(crate) use unix::{Terminal, discard_typed_input};

#[cfg(not(unix))]
pub(crate) use elsewhere::{Terminal, discard_typed_input};

/// Whether the command was typed on a terminal: one of its three streams still is one. A script that redirects all of them is asked
/// nothing. The person who typed a command is asked before it writes, and where the question cannot be shown the call waits.
pub(crate) fn is_typed() -> bool {
    std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal()
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, ErrorKind, Read as _, Write as _};

    use rustix::fs::{Mode, OFlags};
    use rustix::termios::QueueSelector;
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// Longest line that is read; what is behind it counts as the next line.
    const LINE_BYTES_MAX: usize = 4 << 10;

    /// A terminal with a person in front of it.
    #[derive(Debug)]
    pub(crate) struct Terminal {
        keyboard: AsyncFd<File>,
        /// Questions are written here and not to standard error, which may be a file: an answer counts where it is typed.
        screen: File,
    }

    impl Terminal {
        /// Opens the controlling terminal of this process, where the command was typed on one.
        pub(crate) fn open() -> Option<Self> {
            if !super::is_typed() {
                return None;
            }
            let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
            let screen = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
            // An open description of its own, so that the shell's terminal does not become non-blocking.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let terminal = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
            #[expect(
                deprecated,
                reason = "its replacement is unsafe; a file owns its descriptor and keeps it open for as long as it is registered"
            )]
            let terminal = AsyncFd::with_interest(File::from(terminal), Interest::READABLE);
            Some(Self {
                keyboard: terminal.ok()?,
                screen: File::from(screen),
            })
        }

        /// Writes to the screen.
        pub(crate) fn show(&self, text: &str) -> io::Result<()> {
            (&self.screen).write_all(text.as_bytes())
        }

        /// Columns and rows, where the terminal knows them.
        pub(crate) fn size(&self) -> Option<(usize, usize)> {
            let (columns, rows) = terminal_size::terminal_size_of(&self.screen)?;
            Some((usize::from(columns.0), usize::from(rows.0)))
        }

        /// Discards what was typed before now: it is the answer to no question that was shown.
        pub(crate) fn discard_typed_input(&self) -> io::Result<()> {
            rustix::termios::tcflush(self.keyboard.get_ref(), QueueSelector::IFlush)?;
            Ok(())
        }

        /// Reads a line; `None` at the end of the input, Ctrl-D.
        pub(crate) async fn line(&self) -> io::Result<Option<String>> {
            let mut line = Vec::new();
            loop {
                let mut ready = self.keyboard.readable().await?;
                let mut piece = [0; 256];
                let read = match ready.try_io(|terminal| terminal.get_ref().read(&mut piece)) {
                    Err(_would_block) => continue,
                    Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => continue,
                    Ok(read) => read?,
                };
                if read == 0 && line.is_empty() {
                    return Ok(None);
                }
                line.extend_from_slice(&piece[..read]);
                if read == 0 || line.ends_with(b"\n") || line.len() >= LINE_BYTES_MAX {
                    return Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()));
                }
            }
        }
    }

    /// Discards what was typed on standard input before now.
    pub(crate) fn discard_typed_input() -> io::Result<()> {
        rustix::termios::tcflush(io::stdin(), QueueSelector::IFlush)?;
        Ok(())
    }
}

/// On Windows discarding typed input needs unsafe code, which this crate forbids; `SECURITY.md` says so. Without it no
/// question about a call is asked there: the program pauses.
#[cfg(not(unix))]
mod elsewhere {
    use std::io;

    /// No terminal: there is no value of it.
    #[derive(Debug)]
    pub(crate) enum Terminal {}

    impl Terminal {
        pub(crate) fn open() -> Option<Self> {
            None
        }

        pub(crate) fn discard_typed_input(&self) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn show(&self, _: &str) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn size(&self) -> Option<(usize, usize)> {
            match *self {}
        }

        pub(crate) async fn line(&self) -> io::Result<Option<String>> {
            match *self {}
        }
    }

    pub(crate) fn discard_typed_input() -> io::Result<()> {
        Ok(())
    }
}
