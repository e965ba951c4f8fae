//! The layers as an ordinary user, who needs a user namespace where root does not.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{escapee, memory};

/// The user without privileges that systems have under this number.
const ID: u32 = 65_534;

/// Executables that every user may start.
struct Executables {
    _directory: tempfile::TempDir,
    test: PathBuf,
    escapee: PathBuf,
}

impl Executables {
    fn copy() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        let test = std::env::current_exe().unwrap();
        Self {
            test: readable_copy(&test, directory.path()),
            escapee: readable_copy(Path::new(&escapee()), directory.path()),
            _directory: directory,
        }
    }
}

fn readable_copy(from: &Path, directory: &Path) -> PathBuf {
    let to = directory.join(from.file_name().unwrap());
    fs::copy(from, &to).unwrap();
    fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
    to
}

/// Runs the tests of `layers` once more, as a user without privileges.
#[test]
fn an_ordinary_user_has_the_same_layers() {
    if !rustix::process::geteuid().is_root() {
        // Then the tests beside this one are already that.
        return;
    }
    let executables = Executables::copy();
    let output = Command::new(&executables.test)
        .args(["layers::", "--test-threads", "1"])
        .env("LIMBECK_ESCAPEE", &executables.escapee)
        .current_dir("/")
        .gid(ID)
        .uid(ID)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("4 passed"), "{text}");
}

/// A control group that an ordinary user may divide, and the group for a process of that user.
struct Delegated {
    groups: Vec<PathBuf>,
}

impl Delegated {
    fn make(place: &Path) -> Self {
        let top = place.join(format!("limbeck-test-{}", std::process::id()));
        fs::create_dir(&top).unwrap();
        let mut delegated = Self {
            groups: vec![top.clone()],
        };
        // Only version 2 has this file. There no process may be in a group that is divided.
        let divides = top.join("cgroup.subtree_control");
        if divides.exists() {
            fs::write(divides, "+memory").unwrap();
            let leaf = top.join("gateway");
            fs::create_dir(&leaf).unwrap();
            delegated.groups.push(leaf);
        }
        for group in &delegated.groups {
            for path in [group.clone(), group.join("cgroup.procs")] {
                chown(path, Some(ID), Some(ID)).unwrap();
            }
        }
        delegated
    }

    fn add(&self, pid: u32) {
        let group = self.groups.last().unwrap();
        fs::write(group.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        for group in self.groups.iter().rev() {
            // Not empty when the test failed.
            let _ = fs::remove_dir(group);
        }
    }
}

/// Runs the tests of `memory` once more, as a user without privileges who has a control group.
#[tokio::test]
async fn an_ordinary_user_with_a_group_has_the_same_bound_on_memory() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give a group away.
        return;
    }
    let Some(place) = memory::place().await else {
        return;
    };
    let delegated = Delegated::make(&place);
    let executables = Executables::copy();
    let mut child = Command::new("/bin/sh")
        .args(["-c", r#"read _ && exec "$0" "$@""#])
        .arg(&executables.test)
        .args(["memory::", "--test-threads", "1"])
        .env("LIMBECK_ESCAPEE", &executables.escapee)
        .env(memory::NEEDED, "1")
        .current_dir("/")
        .gid(ID)
        .uid(ID)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    delegated.add(child.id());
    // It goes on once it is in its group.
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("3 passed"), "{text}");
}
