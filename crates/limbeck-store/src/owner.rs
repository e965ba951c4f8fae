//! Tells living gateways from dead ones.
//!
//! A gateway that begins executions holds a lock on a file named after it, in a directory beside the
//! database; the system lets go of the lock when the process ends, however it ends. So "is the owner
//! of this execution alive" is "can its file be locked", which, unlike a process number with a start
//! time, stays true across containers and restarts, and works on every platform.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::file;

/// Name of the file that is locked while the database is opened; no token looks like it.
const OPENING: &str = "opening";

/// The directory of owner files, and ours when we have one.
#[derive(Debug)]
pub(crate) struct Owners {
    directory: PathBuf,
    ours: Option<Owner>,
}

/// A held lock: while this lives, the executions under `token` are running.
#[derive(Debug)]
struct Owner {
    token: String,
    path: PathBuf,
    _lock: File,
}

impl Owners {
    /// The directory that goes with `database`, made when missing.
    pub(crate) fn beside(database: &Path) -> Result<Self, StoreError> {
        let mut name = database.as_os_str().to_owned();
        name.push(".owners");
        let directory = PathBuf::from(name);
        file::make_directory(&directory).map_err(|error| StoreError::io(&directory, error))?;
        Ok(Self {
            directory,
            ours: None,
        })
    }

    /// Waits until no other process is opening the database; it is our turn while the file lives.
    pub(crate) fn opening(&self) -> Result<File, StoreError> {
        let path = self.directory.join(OPENING);
        create(&path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| StoreError::io(&path, error))
    }

    /// Our token, when we own anything.
    pub(crate) fn token(&self) -> Option<&str> {
        self.ours.as_ref().map(|owner| owner.token.as_str())
    }

    /// Takes `token`, random and never used before, as ours until the store is closed.
    pub(crate) fn claim(&mut self, token: String) -> Result<(), StoreError> {
        let path = self.directory.join(&token);
        let lock = loop {
            let file = create(&path).map_err(|error| StoreError::io(&path, error))?;
            file.lock().map_err(|error| StoreError::io(&path, error))?;
            // Somebody sweeping may have had the file between those two calls and removed it.
            if path.exists() {
                break file;
            }
        };
        self.ours = Some(Owner {
            token,
            path,
            _lock: lock,
        });
        Ok(())
    }

    /// Whether the gateway that took `token` may still run. What cannot be found out counts as alive.
    pub(crate) fn alive(&self, token: &str) -> bool {
        if self.token() == Some(token) {
            return true;
        }
        match File::open(self.directory.join(token)) {
            Ok(file) => file.try_lock().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Removes the files of gateways that are gone.
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
                // Removed while locked: see `claim`.
                Ok(()) => drop(fs::remove_file(&path)),
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
            }
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Left behind it does no harm; the next recovery sweeps it.
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
