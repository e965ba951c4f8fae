//! The machine as configuration sees it: operating system, directories, environment, files and clock.
//!
//! The command line builds one [`World`] and passes it down; nothing else in Limbeck reads the environment,
//! the home directory or the time to decide where files are. Tests build worlds of their own, of another
//! operating system or below a temporary directory, so paths of every system are tested on one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Operating system, as far as it decides names of variables and directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatingSystem {
    /// Linux and other systems with its conventions.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl OperatingSystem {
    /// The system this program was compiled for.
    pub const CURRENT: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Linux
    };

    /// Variable that holds the home directory.
    pub fn home_variable(self) -> &'static str {
        match self {
            Self::Linux | Self::MacOs => "HOME",
            Self::Windows => "USERPROFILE",
        }
    }

    /// Separator of the directories in `PATH`.
    fn path_list_separator(self) -> char {
        match self {
            Self::Linux | Self::MacOs => ':',
            Self::Windows => ';',
        }
    }

    /// Whether `path` is absolute on this system, which need not be the one that runs.
    fn is_absolute(self, path: &str) -> bool {
        match self {
            Self::Linux | Self::MacOs => path.starts_with('/'),
            Self::Windows => path.starts_with(r"\\") || drive(path).is_some(),
        }
    }
}

/// Splits `C:\Users` into `C` and `Users`.
fn drive(path: &str) -> Option<(char, &str)> {
    let mut characters = path.chars();
    let letter = characters.next().filter(char::is_ascii_alphabetic)?;
    let rest = characters.as_str().strip_prefix(':')?;
    Some((letter, rest.strip_prefix(['\\', '/'])?))
}

/// Source of the current time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// A clock that a test moves by hand: microseconds since 1970.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// Microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                since.map_or(0, |since| {
                    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
                })
            }
            Self::Manual(now_us) => now_us.load(Ordering::Relaxed),
        }
    }
}

/// Names of the variables that were looked up, set or not. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct AskedVariables(Arc<Mutex<BTreeSet<String>>>);

impl AskedVariables {
    fn add(&self, name: &str) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
    }

    /// The names.
    pub fn names(&self) -> BTreeSet<String> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.clone()
    }
}

/// Everything about the machine that decides what Limbeck reads.
#[derive(Clone, Debug)]
pub struct World {
    /// Operating system.
    pub system: OperatingSystem,
    /// Home directory, absolute; `None` when its variable is unset, empty or relative.
    pub home: Option<PathBuf>,
    /// Working directory, absolute.
    pub cwd: PathBuf,
    /// Environment variables whose name and value are UTF-8.
    pub variables: BTreeMap<String, String>,
    /// The running executable, to recognize configuration entries that start it.
    pub executable: Option<PathBuf>,
    /// Directory that replaces the root of the file system; `None` for the real root.
    pub root: Option<PathBuf>,
    /// Source of the current time.
    pub clock: Clock,
    /// Notes which variables decide; `None` notes nothing.
    pub asked: Option<AskedVariables>,
}

impl World {
    /// A world with the real file system and clock, its home directory taken from `variables`.
    pub fn new(
        system: OperatingSystem,
        cwd: impl Into<PathBuf>,
        variables: BTreeMap<String, String>,
    ) -> Self {
        let home = variables
            .get(system.home_variable())
            .filter(|home| system.is_absolute(home))
            .map(PathBuf::from);
        Self {
            system,
            home,
            cwd: cwd.into(),
            variables,
            executable: None,
            root: None,
            clock: Clock::System,
            asked: None,
        }
    }

    /// Why there is no home directory, for a message.
    pub fn home_problem(&self) -> String {
        let name = self.system.home_variable();
        match self.nonempty_variable(name) {
            Some(_) => format!("{name} is not an absolute path"),
            None => format!("{name} is not set"),
        }
    }

    /// A variable as it is set, which may be to an empty value. On Windows its letters may be written otherwise:
    /// the system's own list says `Path`.
    pub fn variable(&self, name: &str) -> Option<&str> {
        if let Some(asked) = &self.asked {
            asked.add(name);
        }
        let found = self.variables.get(name).or_else(|| {
            let mut same = self.variables.iter();
            let same = same.find(|(other, _)| other.eq_ignore_ascii_case(name));
            same.filter(|_| self.system == OperatingSystem::Windows)
                .map(|(_, value)| value)
        });
        found.map(String::as_str)
    }

    /// A variable; one with an empty value counts as unset.
    pub fn nonempty_variable(&self, name: &str) -> Option<&str> {
        self.variable(name).filter(|value| !value.is_empty())
    }

    /// Directory of the user's configuration files: `XDG_CONFIG_HOME` when it is absolute, else `~/.config`.
    pub fn config_directory(&self) -> Option<PathBuf> {
        self.variable("XDG_CONFIG_HOME")
            .filter(|path| self.system.is_absolute(path))
            .map(PathBuf::from)
            .or_else(|| Some(self.home.as_ref()?.join(".config")))
    }

    /// Directory of Limbeck's state when no other is named: `~/.local/state/limbeck`.
    pub fn state_directory(&self) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(".local/state/limbeck"))
    }

    /// Where to find `path`, an absolute path of this world, in the real file system.
    pub fn on_disk(&self, path: &Path) -> PathBuf {
        let Some(root) = &self.root else {
            return path.to_owned();
        };
        let text = path.to_string_lossy();
        // Another system's path is text to this one: without the conversion, `join` would take
        // `C:\Users\me` for one file name.
        let relative = match (self.system, drive(&text)) {
            (OperatingSystem::Windows, Some((letter, rest))) => {
                format!("{letter}/{}", rest.replace('\\', "/"))
            }
            (OperatingSystem::Windows, None) => text.replace('\\', "/"),
            (OperatingSystem::Linux | OperatingSystem::MacOs, _) => text.into_owned(),
        };
        root.join(relative.trim_start_matches('/'))
    }

    /// Directories of a `PATH`, in order.
    pub fn search_path(&self, list: &str) -> Vec<PathBuf> {
        if self.system == OperatingSystem::CURRENT {
            // The standard library also knows the quotes that Windows allows here.
            return std::env::split_paths(list).collect();
        }
        list.split(self.system.path_list_separator())
            .map(PathBuf::from)
            .collect()
    }

    /// Whether `path` is absolute on this world's system.
    pub(crate) fn is_absolute(&self, path: &str) -> bool {
        self.system.is_absolute(path)
    }

    /// Microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        self.clock.now_us()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(system: OperatingSystem, variables: &[(&str, &str)]) -> World {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        World::new(system, "/", variables.collect())
    }

    #[test]
    fn the_home_directory_is_absolute_in_the_terms_of_its_system() {
        for (system, name, value, is_home) in [
            (OperatingSystem::Linux, "HOME", "/home/me", true),
            (OperatingSystem::MacOs, "HOME", "/Users/me", true),
            (OperatingSystem::Linux, "HOME", "me", false),
            (OperatingSystem::Linux, "HOME", "", false),
            (OperatingSystem::Linux, "USERPROFILE", "/home/me", false),
            (
                OperatingSystem::Windows,
                "USERPROFILE",
                r"C:\Users\me",
                true,
            ),
            (OperatingSystem::Windows, "USERPROFILE", r"\\host\me", true),
            (OperatingSystem::Windows, "USERPROFILE", r"C:me", false),
            (OperatingSystem::Windows, "HOME", r"C:\Users\me", false),
        ] {
            let expected = is_home.then(|| PathBuf::from(value));
            let found = world(system, &[(name, value)]).home;
            assert_eq!(found, expected, "{system:?} {name}={value}");
        }
    }

    #[test]
    fn paths_of_every_system_are_found_below_the_root() {
        for (system, path, found) in [
            (OperatingSystem::Linux, "/home/me/x", "/tmp/w/home/me/x"),
            (
                OperatingSystem::Windows,
                r"C:\Users\me",
                "/tmp/w/C/Users/me",
            ),
            (OperatingSystem::Windows, r"\\host\me", "/tmp/w/host/me"),
        ] {
            let world = World {
                root: Some(PathBuf::from("/tmp/w")),
                ..world(system, &[])
            };
            assert_eq!(world.on_disk(Path::new(path)), PathBuf::from(found));
        }
        let real = world(OperatingSystem::Linux, &[]);
        assert_eq!(real.on_disk(Path::new("/x")), PathBuf::from("/x"));
    }

    #[test]
    fn a_search_path_is_split_as_its_system_does() {
        let split = |system, list| world(system, &[]).search_path(list);
        assert_eq!(
            split(OperatingSystem::MacOs, "/a:/b"),
            [PathBuf::from("/a"), PathBuf::from("/b")]
        );
        assert_eq!(
            split(OperatingSystem::Windows, r"C:\a;C:\b"),
            [PathBuf::from(r"C:\a"), PathBuf::from(r"C:\b")]
        );
    }

    #[test]
    fn the_configuration_directory_is_the_named_one_when_it_is_absolute() {
        let directory = |variables: &[(&str, &str)]| {
            world(OperatingSystem::Linux, variables).config_directory()
        };
        assert_eq!(
            directory(&[("HOME", "/home/me"), ("XDG_CONFIG_HOME", "/c")]),
            Some(PathBuf::from("/c"))
        );
        for named in ["", "relative"] {
            assert_eq!(
                directory(&[("HOME", "/home/me"), ("XDG_CONFIG_HOME", named)]),
                Some(PathBuf::from("/home/me/.config"))
            );
        }
        assert_eq!(directory(&[]), None);
    }

    #[test]
    fn a_manual_clock_shows_the_time_it_was_set_to() {
        let now_us = Arc::new(AtomicU64::new(5));
        let clock = Clock::Manual(Arc::clone(&now_us));
        assert_eq!(clock.now_us(), 5);
        now_us.store(7, Ordering::Relaxed);
        assert_eq!(clock.now_us(), 7);
        assert!(Clock::System.now_us() > 1_600_000_000_000_000);
    }
}
