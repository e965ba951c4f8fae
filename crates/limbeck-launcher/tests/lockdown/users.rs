//! The layers as an ordinary user, who needs a user namespace where root does not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::escapee;

/// `nobody`.
const ID: u32 = 65_534;

fn readable_copy(from: &Path, directory: &Path) -> std::path::PathBuf {
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
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let test = readable_copy(&std::env::current_exe().unwrap(), directory.path());
    let escapee = readable_copy(Path::new(&escapee()), directory.path());
    let output = Command::new(test)
        .args(["layers::", "--test-threads", "1"])
        .env("LIMBECK_ESCAPEE", escapee)
        .current_dir("/")
        .gid(ID)
        .uid(ID)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("4 passed"), "{text}");
}
