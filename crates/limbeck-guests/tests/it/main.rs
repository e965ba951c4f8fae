//! The build script's own parts.

#[path = "../../seal.rs"]
mod seal;

use std::fs;

#[test]
fn a_directory_counts_only_as_it_was_sealed_and_for_what_it_was_made_from() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert!(!seal::holds(dir, "key"), "nothing was sealed");
    fs::write(dir.join("code.cwasm"), "machine code").unwrap();
    fs::write(dir.join("sha256"), "of the guest").unwrap();
    assert!(!seal::holds(dir, "key"), "it was not sealed");

    seal::write(dir, "key").unwrap();
    assert!(seal::holds(dir, "key"));
    assert!(!seal::holds(dir, "another key"), "renamed");
    assert!(!seal::holds(&dir.join("none"), "key"));

    fs::write(dir.join("code.cwasm"), "machine_code").unwrap();
    assert!(!seal::holds(dir, "key"), "a file was changed");
    fs::write(dir.join("code.cwasm"), "machine code").unwrap();
    assert!(seal::holds(dir, "key"));
    fs::write(dir.join("more"), "").unwrap();
    assert!(!seal::holds(dir, "key"), "a file was added");
    fs::remove_file(dir.join("more")).unwrap();
    fs::remove_file(dir.join("sha256")).unwrap();
    assert!(!seal::holds(dir, "key"), "a file was removed");
}

#[cfg(unix)]
#[test]
fn a_link_in_a_directory_is_not_used() {
    let outside = tempfile::tempdir().unwrap();
    let code = outside.path().join("code");
    fs::write(&code, "machine code").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("code.cwasm"), "machine code").unwrap();
    seal::write(dir, "key").unwrap();
    assert!(seal::holds(dir, "key"));

    fs::remove_file(dir.join("code.cwasm")).unwrap();
    std::os::unix::fs::symlink(&code, dir.join("code.cwasm")).unwrap();
    assert!(!seal::holds(dir, "key"));
}
