//! Lock files that show which gateways still run.
//!
//! A gateway that begins executions holds a lock on a file of its own, in a directory beside the database;
//! the system releases the lock when the process ends, however it ends. So an owner is alive when its file
//! cannot be locked. Unlike a process number with a start time, this is right across containers and
//! restarts, and it works on every platform.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::private_directory;

/// File that is locked while a process opens the database; no token has this form.
const OPENING: &str = "opening";

/// The directory of lock files, and the lock of this process once it has one.
#[derive(Debug)]
pub(crate) struct OwnerLocks {
    directory: PathBuf,
    held: Option<OwnerLock>,
}

/// A held lock: while this value exists, the executions of `token` count as running.
#[derive(Debug)]
struct OwnerLock {
    token: String,
    path: PathBuf,
    _lock: File,
}

impl OwnerLocks {
    /// The directory beside `database`, created when missing.
    pub(crate) fn beside(database: &Path) -> Result<Self, StoreError> {
        let mut name = database.as_os_str().to_owned();
        name.push(".owners");
        let directory = PathBuf::from(name);
        private_directory::create(&directory).map_err(|error| StoreError::io(&directory, error))?;
        Ok(Self {
            directory,
            held: None,
        })
    }

    /// Waits until no other process is opening the database. The lock is held until the file is dropped.
    pub(crate) fn lock_opening(&self) -> Result<File, StoreError> {
        let path = self.directory.join(OPENING);
        create(&path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| StoreError::io(&path, error))
    }

    /// Token of this process, once it has claimed one.
    pub(crate) fn token(&self) -> Option<&str> {
        self.held.as_ref().map(|owner| owner.token.as_str())
    }

    /// Claims `token`, which is random and was never used before, until the store is closed.
    pub(crate) fn claim(&mut self, token: String) -> Result<(), StoreError> {
        let path = self.directory.join(&token);
        let lock = loop {
            let file = create(&path).map_err(|error| StoreError::io(&path, error))?;
            file.lock().map_err(|error| StoreError::io(&path, error))?;
            // A sweep of another process may have locked and removed the file between these two calls;
            // then this lock is on a file without a name, which no other process can find.
            if path.exists() {
                break file;
            }
        };
        self.held = Some(OwnerLock {
            token,
            path,
            _lock: lock,
        });
        Ok(())
    }

    /// Whether the gateway that claimed `token` may still run. An error that leaves it open counts as running.
    pub(crate) fn is_alive(&self, token: &str) -> bool {
        if self.token() == Some(token) {
            return true;
        }
        match File::open(self.directory.join(token)) {
            Ok(file) => file.try_lock().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Removes the files of gateways that no longer run.
    pub(crate) fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_name() == OPENING {
                continue;
            }
            let path = entry.path();
            let Ok(file) = File::open(&path) else {
                continue;
            };
            match file.try_lock() {
                // Removed while locked, so that `claim` notices.
                Ok(()) => drop(fs::remove_file(&path)),
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
            }
        }
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // A file that stays is harmless: it is not locked, and the next recovery removes it.
        drop(fs::remove_file(&self.path));
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}
