//! Files of a guest: contents, names, handles and bounds.

use super::*;

const ROOM: usize = 1 << 30;

fn tmp(files: &Files) -> NodeId {
    files.find(ROOT, "tmp").unwrap()
}

fn create(files: &mut Files, path: &str) -> Result<NodeId, ErrorCode> {
    let how = Open {
        create: true,
        write: true,
        ..Open::default()
    };
    files.open(ROOT, path, how, 1)
}

#[test]
fn what_is_written_is_read_back_and_counted() {
    let mut files = Files::new();
    let id = create(&mut files, "tmp/a.txt").unwrap();
    files.write(id, 0, b"hello", ROOM, 7).unwrap();
    files.write(id, 7, b"!", ROOM, 7).unwrap();
    assert_eq!(files.read(id, 0, 100), b"hello\0\0!");
    assert_eq!(files.read(id, 4, 2), b"o\0");
    assert_eq!(files.read(id, u64::MAX, 1), b"");
    assert_eq!(files.bytes(), 8);
    files.set_size(id, 2, ROOM, 9).unwrap();
    assert_eq!(files.read(id, 0, 100), b"he");
    assert_eq!(files.stat(id).modified_us, 9);
    files.unlink_file(ROOT, "tmp/a.txt").unwrap();
    assert_eq!(files.bytes(), 0);
    assert_eq!(files.find(ROOT, "tmp/a.txt"), Err(ErrorCode::NoEntry));
}

#[test]
fn an_open_file_outlives_its_name() {
    let mut files = Files::new();
    let id = create(&mut files, "tmp/a").unwrap();
    files.hold(id);
    files.write(id, 0, b"kept", ROOM, 1).unwrap();
    files.unlink_file(ROOT, "tmp/a").unwrap();
    assert_eq!(files.read(id, 0, 9), b"kept");
    let other = create(&mut files, "tmp/a").unwrap();
    assert_ne!(other, id);
    files.release(id);
    assert_eq!(files.bytes(), 0);
}

#[test]
fn an_open_directory_outlives_all_that_was_above_it() {
    let mut files = Files::new();
    files.create_directory(ROOT, "tmp/a", 0).unwrap();
    files.create_directory(ROOT, "tmp/a/b", 0).unwrap();
    let id = files.find(ROOT, "tmp/a/b").unwrap();
    files.hold(id);
    files.remove_directory(ROOT, "tmp/a/b").unwrap();
    files.remove_directory(ROOT, "tmp/a").unwrap();
    assert_eq!(files.find(id, ".."), Ok(ROOT));
    assert_eq!(files.create_directory(id, "c", 0), Err(ErrorCode::NoEntry));
    files.release(id);
}

#[test]
fn a_removed_directory_that_is_open_takes_nothing_by_a_rename() {
    let mut files = Files::new();
    for path in ["tmp/a", "tmp/b", "tmp/moved"] {
        files.create_directory(ROOT, path, 0).unwrap();
    }
    let removed = files.find(ROOT, "tmp/a").unwrap();
    let kept = files.find(ROOT, "tmp/b").unwrap();
    for id in [removed, kept] {
        files.hold(id);
    }
    files.remove_directory(ROOT, "tmp/a").unwrap();
    let refused = files.rename((ROOT, "tmp/moved"), (removed, "moved"));
    assert_eq!(refused, Err(ErrorCode::NoEntry));
    // The control: an open directory that has a name.
    files.rename((ROOT, "tmp/moved"), (kept, "moved")).unwrap();
    for id in [removed, kept] {
        files.release(id);
    }
    assert_eq!(files.find(ROOT, "tmp/b/moved/.."), Ok(kept));
}

#[test]
fn no_path_leaves_the_tree() {
    let mut files = Files::new();
    assert_eq!(files.find(tmp(&files), "../../../tmp"), Ok(tmp(&files)));
    assert_eq!(
        files.find(ROOT, "/etc/passwd"),
        Err(ErrorCode::NotPermitted)
    );
    assert_eq!(files.find(ROOT, "etc/passwd"), Err(ErrorCode::NoEntry));
    assert_eq!(create(&mut files, "etc"), Err(ErrorCode::ReadOnly));
    assert_eq!(
        files.create_directory(ROOT, "etc", 0),
        Err(ErrorCode::ReadOnly)
    );
    assert_eq!(
        files.remove_directory(ROOT, "tmp"),
        Err(ErrorCode::ReadOnly)
    );
    assert_eq!(
        files.rename((ROOT, "tmp"), (ROOT, "workspace/tmp")),
        Err(ErrorCode::ReadOnly)
    );
}

#[test]
fn renaming_moves_replaces_and_refuses_what_makes_no_tree() {
    let mut files = Files::new();
    files.create_directory(ROOT, "tmp/a", 0).unwrap();
    files.create_directory(ROOT, "tmp/a/b", 0).unwrap();
    assert_eq!(
        files.rename((ROOT, "tmp/a"), (ROOT, "tmp/a/b/c")),
        Err(ErrorCode::Invalid)
    );
    files
        .rename((ROOT, "tmp/a/b"), (ROOT, "workspace/b"))
        .unwrap();
    let moved = files.find(ROOT, "workspace/b").unwrap();
    assert_eq!(files.find(moved, ".."), files.find(ROOT, "workspace"));
    let one = create(&mut files, "tmp/one").unwrap();
    files.write(one, 0, b"1", ROOM, 1).unwrap();
    let two = create(&mut files, "tmp/two").unwrap();
    files.write(two, 0, b"22", ROOM, 1).unwrap();
    files.rename((ROOT, "tmp/one"), (ROOT, "tmp/two")).unwrap();
    assert_eq!(files.find(ROOT, "tmp/two"), Ok(one));
    assert_eq!(files.bytes(), 1);
    assert_eq!(
        files.rename((ROOT, "tmp/two"), (ROOT, "workspace/b")),
        Err(ErrorCode::IsDirectory)
    );
    files.rename((ROOT, "tmp/two"), (ROOT, "tmp/two")).unwrap();
    assert_eq!(files.find(ROOT, "tmp/two"), Ok(one));
}

#[test]
fn every_bound_is_an_error_and_the_next_operation_works() {
    let mut files = Files::new();
    let id = create(&mut files, "tmp/a").unwrap();
    let full = Err(ErrorCode::InsufficientSpace);
    assert_eq!(files.set_size(id, BYTES_MAX as u64 + 1, ROOM, 0), full);
    assert_eq!(
        files.write(id, u64::MAX, b"x", ROOM, 0),
        Err(ErrorCode::FileTooLarge)
    );
    assert_eq!(files.write(id, 1 << 60, b"x", ROOM, 0), full);
    assert_eq!(files.write(id, 0, b"12345", 4, 0), full);
    files.write(id, 0, b"1234", 4, 0).unwrap();
    let long = format!("tmp/{}", "x".repeat(NAME_BYTES_MAX + 1));
    assert_eq!(create(&mut files, &long), Err(ErrorCode::NameTooLong));
    let deep = "tmp/".repeat(PATH_BYTES_MAX);
    assert_eq!(files.find(ROOT, &deep), Err(ErrorCode::NameTooLong));
    let made = (0..).take_while(|i| create(&mut files, &format!("tmp/{i}")).is_ok());
    assert_eq!(made.count(), NODES_MAX - 4);
    files.unlink_file(ROOT, "tmp/7").unwrap();
    create(&mut files, "tmp/7").unwrap();
}

#[test]
fn a_directory_lists_by_name_while_it_changes() {
    let mut files = Files::new();
    for name in ["tmp/b", "tmp/a", "tmp/d"] {
        create(&mut files, name).unwrap();
    }
    let at = tmp(&files);
    assert_eq!(files.next_entry(at, None), Some(("a".to_owned(), false)));
    files.unlink_file(ROOT, "tmp/b").unwrap();
    assert_eq!(
        files.next_entry(at, Some("a")),
        Some(("d".to_owned(), false))
    );
    assert_eq!(files.next_entry(at, Some("d")), None);
    assert_eq!(files.next_entry(ROOT, None), Some(("tmp".to_owned(), true)));
    assert_eq!(
        files.remove_directory(ROOT, "tmp/a"),
        Err(ErrorCode::NotDirectory)
    );
}
