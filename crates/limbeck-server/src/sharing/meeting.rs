//! Where the processes of one configuration meet: a socket, and a lock that says who listens on it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, sleep};

use super::greeting::{self, is_own_user};
use super::message::{Greeting, Reply, VERSION};
use super::offer::Offer;

/// Suffixes of the two files.
const SOCKET: &str = "sock";
const LOCK: &str = "lock";
/// Digits of the identity in the files' names; the whole is compared on the connection.
const NAME_DIGITS: usize = 16;
/// Longest path of a socket on every system, without the byte that ends it.
const SOCKET_PATH_BYTES_MAX: usize = 100;
/// How long a process tries to find a gateway or to become it. Meanwhile another holds the lock and does not listen yet, which
/// takes it no time.
const TRY_FOR: Duration = Duration::from_secs(10);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Meeting place of the processes of one configuration.
#[derive(Clone, Debug)]
pub struct Meeting {
    directory: PathBuf,
    identity: String,
}

/// What a process is after it came to the meeting place.
#[derive(Debug)]
pub enum Joined {
    /// A pipe to the gateway of another process.
    Gateway {
        /// Connection to it, on which lines of a client are served.
        stream: UnixStream,
        /// Its process.
        pid: u32,
    },
    /// The gateway, to which others can connect.
    Elected(Offer),
    /// A gateway for itself.
    Alone {
        /// Why it shares none.
        reason: String,
    },
}

/// The lock of an elected process. Dropping it removes both files.
#[derive(Debug)]
pub(super) struct Claim {
    lock: File,
    lock_path: PathBuf,
    socket: PathBuf,
}

impl Meeting {
    /// The place of `identity`, at least 16 hexadecimal digits, in `directory`, which is created when it is needed.
    pub fn new(directory: PathBuf, identity: String) -> Self {
        Self {
            directory,
            identity,
        }
    }

    /// The identity that processes of this place have in common.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The socket of this place.
    pub fn socket(&self) -> PathBuf {
        self.file(SOCKET)
    }

    fn file(&self, suffix: &str) -> PathBuf {
        let name = self.identity.get(..NAME_DIGITS).unwrap_or(&self.identity);
        self.directory.join(format!("{name}.{suffix}"))
    }

    /// Connects to the gateway of this place, or becomes it.
    pub async fn join(&self) -> Joined {
        let alone = |reason: String| Joined::Alone { reason };
        if let Err(problem) = private_directory(&self.directory) {
            return alone(problem);
        }
        let begun = Instant::now();
        while begun.elapsed() < TRY_FOR {
            match connect(&self.socket()).await {
                Ok(stream) => match self.greet(stream).await {
                    Ok(Some(joined)) => return joined,
                    // It ended meanwhile.
                    Ok(None) => {}
                    Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                        return alone("the gateway that runs does not answer".to_owned());
                    }
                    Err(_) => {}
                },
                Err(_) => match self.claim() {
                    Ok(Some(claim)) => {
                        return match bind(&claim.socket) {
                            Ok(listener) => {
                                sweep(&self.directory);
                                Joined::Elected(Offer::new(listener, claim, self.identity.clone()))
                            }
                            Err(error) => alone(format!("no socket could be made: {error}")),
                        };
                    }
                    Ok(None) => {}
                    Err(error) => return alone(format!("no lock could be made: {error}")),
                },
            }
            sleep(PAUSE).await;
        }
        alone("no gateway could be elected".to_owned())
    }

    /// Greets a gateway; `None` when it is about to end.
    async fn greet(&self, mut stream: UnixStream) -> io::Result<Option<Joined>> {
        let alone = |reason: String| Ok(Some(Joined::Alone { reason }));
        if !is_own_user(&stream) {
            return alone("the socket belongs to another user".to_owned());
        }
        let greeting = Greeting::Join {
            version: VERSION,
            identity: self.identity.clone(),
        };
        greeting::write(&mut stream, greeting).await?;
        match greeting::read(&mut stream).await? {
            Reply::Joined { pid } => Ok(Some(Joined::Gateway { stream, pid })),
            Reply::Ending => Ok(None),
            Reply::Refused { reason } => alone(reason),
            Reply::Health(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Takes the lock, and removes a socket of a process that is gone; `None` while another process has it.
    fn claim(&self) -> io::Result<Option<Claim>> {
        let lock_path = self.file(LOCK);
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let lock = options.mode(0o600).open(&lock_path)?;
        if lock.try_lock().is_err() || !is_at(&lock, &lock_path) {
            return Ok(None);
        }
        let socket = self.socket();
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(Some(Claim {
                lock,
                lock_path,
                socket,
            })),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While the lock is held: afterwards the socket may be that of another process.
        drop(fs::remove_file(&self.socket));
        drop(fs::remove_file(&self.lock_path));
        drop(self.lock.unlock());
    }
}

/// Whether `path` leads to this open file: who had the lock before may have removed it.
fn is_at(file: &File, path: &Path) -> bool {
    let number = |found: fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => number(open) == number(named),
        (Ok(_) | Err(_), _) => false,
    }
}

/// Creates the directory, or says what is wrong with the one that is there.
fn private_directory(directory: &Path) -> Result<(), String> {
    let problem = |what: &str| format!("{} {what}", directory.display());
    let mut builder = fs::DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(directory);
    created.map_err(|error| problem(&format!("could not be made: {error}")))?;
    let found = fs::metadata(directory);
    let found = found.map_err(|error| problem(&format!("could not be read: {error}")))?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(problem("belongs to another user"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(problem("is open to other users"));
    }
    Ok(())
}

/// Removes what processes have left that were killed.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|suffix| suffix != LOCK) {
            continue;
        }
        let Ok(lock) = File::open(&path) else {
            continue;
        };
        if lock.try_lock().is_ok() && is_at(&lock, &path) {
            // Removed while locked, so that `claim` notices.
            drop(fs::remove_file(path.with_extension(SOCKET)));
            drop(fs::remove_file(&path));
        }
    }
}

fn bind(socket: &Path) -> io::Result<UnixListener> {
    let short = ShortPath::of(socket)?;
    let listener = UnixListener::bind(&short.path)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to a socket.
pub(super) async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let short = ShortPath::of(socket)?;
    UnixStream::connect(&short.path).await
}

/// A path to a socket that is short enough for an address.
struct ShortPath {
    path: PathBuf,
    /// The directory that a shortened path leads through.
    _directory: Option<File>,
}

impl ShortPath {
    fn of(socket: &Path) -> io::Result<Self> {
        let is_short = socket.as_os_str().len() <= SOCKET_PATH_BYTES_MAX;
        let (Some(directory), Some(name), false) = (socket.parent(), socket.file_name(), is_short)
        else {
            return Ok(Self {
                path: socket.to_owned(),
                _directory: None,
            });
        };
        if !cfg!(target_os = "linux") {
            return Err(io::Error::other("the path of the socket is too long"));
        }
        use std::os::fd::AsRawFd as _;
        let directory = File::open(directory)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
        Ok(Self {
            path,
            _directory: Some(directory),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting(directory: &Path) -> Meeting {
        Meeting::new(directory.join("gateways"), "0123456789abcdef01".to_owned())
    }

    #[tokio::test]
    async fn one_of_several_is_elected_and_the_next_when_it_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let meeting = meeting(directory.path());
        let Joined::Elected(offer) = meeting.join().await else {
            panic!("no other process is there");
        };
        assert!(meeting.claim().unwrap().is_none());
        let offered = offer.accept();
        let Joined::Gateway { pid, .. } = meeting.join().await else {
            panic!("the gateway listens");
        };
        assert_eq!(pid, std::process::id());
        offered.end(Duration::ZERO).await;
        assert!(matches!(meeting.join().await, Joined::Elected(_)));
        // Nothing is left behind.
        let left = fs::read_dir(directory.path().join("gateways")).unwrap();
        assert_eq!(left.count(), 0);
    }

    #[tokio::test]
    async fn a_long_path_works_and_what_a_killed_process_left_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let long = directory.path().join("x".repeat(120));
        let meeting = meeting(&long);
        private_directory(&long.join("gateways")).unwrap();
        // As after a kill: the files are there, and no process holds the lock or listens.
        drop(std::os::unix::net::UnixListener::bind(
            ShortPath::of(&meeting.socket()).unwrap().path,
        ));
        fs::write(meeting.file(LOCK), "").unwrap();
        fs::write(long.join("gateways/fedcba9876543210.lock"), "").unwrap();
        let Joined::Elected(offer) = meeting.join().await else {
            panic!("no process is there");
        };
        assert!(!long.join("gateways/fedcba9876543210.lock").exists());
        let _offered = offer.accept();
        assert!(matches!(meeting.join().await, Joined::Gateway { .. }));
    }

    #[tokio::test]
    async fn a_directory_that_others_can_enter_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let meeting = meeting(directory.path());
        private_directory(&meeting.directory).unwrap();
        fs::set_permissions(&meeting.directory, fs::Permissions::from_mode(0o755)).unwrap();
        let Joined::Alone { reason } = meeting.join().await else {
            panic!("it was used");
        };
        assert!(reason.ends_with("is open to other users"), "{reason}");
    }
}
