//! Place of memory control groups: the directory in which this process may make one for its workers.
//!
//! With version 1 that is this process's own group. With version 2 a group with processes may not be
//! divided, so it is the nearest group above that is this user's and divides memory. No group is passed
//! that has a limit: workers would escape what the administrator set for the gateway.
//!
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html>, "Delegation" and "No Internal Process
//! Constraint"; `proc_pid_mountinfo(5)`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

/// Version of the interface to control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// A hierarchy for each controller.
    One,
    /// One hierarchy.
    Two,
}

/// A directory in which this process may make groups.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) version: Version,
    pub(super) parent: PathBuf,
}

/// Files of version 2 that limit a group, and their first word when they do not. Not that of the
/// number of processes: workers start none.
const LIMITS: &[(&str, &str)] = &[
    ("memory.max", "max"),
    ("memory.high", "max"),
    ("memory.swap.max", "max"),
    ("cpu.max", "max"),
    ("cpuset.cpus", ""),
    ("io.max", ""),
];

/// The group of a process in one hierarchy.
#[derive(Debug)]
struct Own {
    /// Where the hierarchy is mounted: nothing above it can be seen.
    mount: PathBuf,
    group: PathBuf,
}

impl Place {
    /// The place for the groups of this process.
    ///
    /// # Errors
    ///
    /// The reason why there is no such place, for people.
    pub(super) fn find() -> Result<Self, String> {
        let read = |path| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let groups = read("/proc/self/cgroup")?;
        let mounts = read("/proc/self/mountinfo")?;
        Self::among(&groups, &mounts, geteuid().as_raw())
    }

    /// `groups` and `mounts` are the kernel's texts on this process, whose user is `user`.
    fn among(groups: &str, mounts: &str, user: u32) -> Result<Self, String> {
        let unified = Own::read(groups, mounts, Version::Two);
        if let Some(own) = unified.filter(|own| lists_memory(&own.mount, "cgroup.controllers")) {
            let parent = own.nearest_divided(user)?;
            return Ok(Self {
                version: Version::Two,
                parent,
            });
        }
        let Some(own) = Own::read(groups, mounts, Version::One) else {
            return Err("the system shows this process no control group with memory".to_owned());
        };
        own.check_hierarchy(user)?;
        Ok(Self {
            version: Version::One,
            parent: own.group,
        })
    }
}

impl Own {
    /// Where the group's directory is: the path of the group, below the part of the hierarchy that is
    /// mounted.
    fn read(groups: &str, mounts: &str, version: Version) -> Option<Self> {
        let path = groups.lines().find_map(|line| group(line, version))?;
        let mut below = mounts.lines().filter_map(|line| mount(line, version));
        below.find_map(|(root, mount)| {
            let path = Path::new(path).strip_prefix(root).ok()?;
            let plain = |part| matches!(part, Component::Normal(_));
            path.components().all(plain).then(|| Self {
                mount: mount.into(),
                // Joining an empty path would end it with a slash.
                group: Path::new(mount)
                    .components()
                    .chain(path.components())
                    .collect(),
            })
        })
    }

    /// Version 2: the nearest group that is the user's to divide.
    fn nearest_divided(&self, user: u32) -> Result<PathBuf, String> {
        let visible = |group: &&Path| group.starts_with(&self.mount);
        for group in self.group.ancestors().take_while(visible) {
            // Moving a process takes the right to write this file of the group above both places.
            let ours = is_ours(group, user) && is_ours(&group.join("cgroup.procs"), user);
            if ours && lists_memory(group, "cgroup.subtree_control") {
                return Ok(group.to_owned());
            }
            if let Some(file) = limit(group) {
                return Err(format!(
                    "{} limits this process ({file}), and workers would have to leave it",
                    group.display()
                ));
            }
        }
        let group = self.group.display();
        Err(format!("no group above {group} is this user's to divide"))
    }

    /// Version 1: whether the group can be divided by the user, with its limit over both.
    fn check_hierarchy(&self, user: u32) -> Result<(), String> {
        let group = self.group.display();
        if !is_ours(&self.group, user) {
            return Err(format!("{group} is not this user's to divide"));
        }
        match content(&self.group, "memory.use_hierarchy").as_deref() {
            Ok("1") => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Ok(_) | Err(_) => Err(format!(
                "the limit of {group} does not hold for groups in it"
            )),
        }
    }
}

/// Path of the group in a line of `/proc/self/cgroup`: `4:memory:/path`, and `0::/path` for version 2.
fn group(line: &str, version: Version) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let matches = match version {
        Version::One => controllers.split(',').any(|one| one == "memory"),
        Version::Two => controllers.is_empty(),
    };
    matches.then_some(path)
}

/// Root and mount point in a line of `/proc/self/mountinfo`. One with escaped characters is not
/// used: the usual mount points have no such characters.
fn mount(line: &str, version: Version) -> Option<(&str, &str)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (system, _, options) = (kind.next()?, kind.next()?, kind.next()?);
    let matches = match version {
        Version::One => system == "cgroup" && options.split(',').any(|one| one == "memory"),
        Version::Two => system == "cgroup2",
    };
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    (matches && !root.contains('\\') && !point.contains('\\')).then_some((root, point))
}

/// Whether `user` owns a file or directory and may write it: not where it is mounted to be read.
fn is_ours(path: &Path, user: u32) -> bool {
    let owned = fs::metadata(path).is_ok_and(|metadata| metadata.uid() == user);
    owned && access(path, Access::WRITE_OK).is_ok()
}

/// Whether a file with names of controllers has that of memory.
fn lists_memory(group: &Path, file: &str) -> bool {
    let names = content(group, file).unwrap_or_default();
    names.split(' ').any(|name| name == "memory")
}

/// The first file by which a group is limited. One that cannot be read counts as a limit.
fn limit(group: &Path) -> Option<&'static str> {
    let limits = LIMITS
        .iter()
        .find(|(file, none)| match content(group, file) {
            Ok(text) => text.split(' ').next().is_none_or(|word| word != *none),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        });
    limits.map(|(file, _)| *file)
}

fn content(group: &Path, file: &str) -> io::Result<String> {
    let text = fs::read_to_string(group.join(file))?;
    Ok(text.trim_ascii_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hierarchy of files in a temporary directory.
    struct Tree {
        directory: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            Self { directory }
        }

        fn path(&self, group: &str) -> PathBuf {
            self.directory.path().join(group)
        }

        /// A group with files.
        fn group(&self, group: &str, files: &[(&str, &str)]) {
            fs::create_dir_all(self.path(group)).unwrap();
            for (file, text) in files {
                fs::write(self.path(group).join(file), text).unwrap();
            }
        }

        /// A group of version 2 without limits that gives the controllers named to those in it.
        fn divided(&self, group: &str, controllers: &str) {
            self.group(
                group,
                &[
                    ("cgroup.procs", ""),
                    ("cgroup.subtree_control", controllers),
                    ("memory.max", "max\n"),
                    ("cpu.max", "max 100000\n"),
                    ("cpuset.cpus", "\n"),
                    ("io.max", ""),
                ],
            );
        }

        /// The usual tree: a session of a user, who divides `app.slice` and nothing above it.
        fn desktop() -> Self {
            let tree = Self::new();
            tree.group("", &[("cgroup.controllers", "cpuset cpu io memory pids\n")]);
            tree.divided("user.slice", "memory pids\n");
            tree.divided("user.slice/app.slice", "cpu memory pids\n");
            tree.divided("user.slice/app.slice/term.scope", "\n");
            tree
        }

        fn find(&self, groups: &str, user: u32) -> Result<Place, String> {
            let root = self.directory.path().display();
            let mounts = format!(
                "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
                 35 31 0:32 / {root}/v1 rw,relatime - cgroup cgroup rw,memory\n\
                 36 31 0:33 / {root}/v1 rw,relatime - cgroup cgroup rw,devices\n\
                 41 31 0:38 / {root} rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
            );
            Place::among(groups, &mounts, user)
        }
    }

    const DESKTOP: &str = "0::/user.slice/app.slice/term.scope\n";

    fn user() -> u32 {
        geteuid().as_raw()
    }

    #[test]
    fn version_2_takes_the_nearest_group_above_that_divides_memory() {
        let tree = Tree::desktop();
        let parent = tree.path("user.slice/app.slice");
        let place = Place {
            version: Version::Two,
            parent,
        };
        assert_eq!(tree.find(DESKTOP, user()), Ok(place));
        // One that does not divide memory is passed.
        tree.divided("user.slice/app.slice", "cpu pids\n");
        let parent = tree.path("user.slice");
        let place = Place {
            version: Version::Two,
            parent,
        };
        assert_eq!(tree.find(DESKTOP, user()), Ok(place));
    }

    #[test]
    fn groups_of_another_user_are_not_taken() {
        let tree = Tree::desktop();
        let reason = tree.find(DESKTOP, user() + 1).unwrap_err();
        assert!(
            reason.ends_with("term.scope is this user's to divide"),
            "{reason}"
        );
    }

    #[test]
    fn a_group_without_the_file_that_moves_processes_is_not_taken() {
        let tree = Tree::desktop();
        fs::remove_file(tree.path("user.slice/app.slice/cgroup.procs")).unwrap();
        let place = tree.find(DESKTOP, user()).unwrap();
        assert_eq!(place.parent, tree.path("user.slice"));
    }

    #[test]
    fn workers_do_not_leave_a_group_that_limits_the_gateway() {
        for (file, text) in [
            ("memory.max", "1073741824\n"),
            ("memory.high", "1073741824\n"),
            ("memory.swap.max", "0\n"),
            ("cpu.max", "50000 100000\n"),
            ("cpuset.cpus", "0-1\n"),
            ("io.max", "8:0 rbps=1024\n"),
        ] {
            let tree = Tree::desktop();
            tree.group("user.slice/app.slice/term.scope", &[(file, text)]);
            let reason = tree.find(DESKTOP, user()).unwrap_err();
            assert!(reason.contains(&format!("({file})")), "{reason}");
            // The control: a limit of the group that is divided holds for workers too.
            let tree = Tree::desktop();
            tree.group("user.slice/app.slice", &[(file, text)]);
            let place = tree.find(DESKTOP, user()).unwrap();
            assert_eq!(place.parent, tree.path("user.slice/app.slice"));
        }
    }

    #[test]
    fn version_1_takes_the_gateways_own_group_of_memory() {
        let tree = Tree::new();
        let groups = "4:cpu,memory:/gateway\n3:devices:/other\n0::/\n";
        tree.group("v1/gateway", &[("memory.use_hierarchy", "1\n")]);
        let parent = tree.path("v1/gateway");
        let place = Place {
            version: Version::One,
            parent,
        };
        assert_eq!(tree.find(groups, user()), Ok(place));
        let reason = tree.find(groups, user() + 1).unwrap_err();
        assert!(
            reason.ends_with("v1/gateway is not this user's to divide"),
            "{reason}"
        );
        tree.group("v1/gateway", &[("memory.use_hierarchy", "0\n")]);
        assert!(tree.find(groups, user()).is_err());
    }

    #[test]
    fn nothing_is_found_outside_of_what_is_mounted() {
        let tree = Tree::desktop();
        for groups in [
            "0::/../elsewhere\n",
            "",
            "nonsense",
            "4:memory:/../x\n0::/\n",
        ] {
            assert!(tree.find(groups, user()).is_err(), "{groups}");
        }
        let root = tree.directory.path().display();
        let container = format!("9 8 0:7 /docker/a {root} ro - cgroup2 cgroup rw\n");
        let inside = Own::read("0::/docker/a/b\n", &container, Version::Two).unwrap();
        assert_eq!(
            (inside.mount, inside.group),
            (tree.path(""), tree.path("b"))
        );
        assert!(Own::read("0::/docker/ab\n", &container, Version::Two).is_none());
    }
}
