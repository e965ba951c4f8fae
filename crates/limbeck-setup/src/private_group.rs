//! Groups of one user. Many systems give each user such a group, and make every file writable by it.

use std::fs::File;
use std::io::Read as _;

/// Bytes of the lists of users and groups.
const LIST_BYTES_MAX: u64 = 8 << 20;

/// Whether no user but `owner` is known to be in the group, by the lists of this machine.
pub(crate) fn is_private(group: u32, owner: u32) -> bool {
    match (list("/etc/passwd"), list("/etc/group")) {
        (Some(users), Some(groups)) => is_private_in(&users, &groups, group, owner),
        // A list that cannot be read whole says nothing.
        _ => false,
    }
}

fn list(path: &str) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(LIST_BYTES_MAX).read_to_string(&mut text).ok()?;
    ((text.len() as u64) < LIST_BYTES_MAX).then_some(text)
}

/// A group that is in no list is private only where it has the number of its owner, as systems number such groups.
fn is_private_in(users: &str, groups: &str, group: u32, owner: u32) -> bool {
    let number = |text: Option<&&str>| text.and_then(|text| text.parse::<u32>().ok());
    let fields = |line| str::split(line, ':').collect::<Vec<&str>>();
    let users: Vec<Vec<&str>> = users.lines().map(fields).collect();
    let names = users
        .iter()
        .filter(|user| number(user.get(2)) == Some(owner));
    let names: Vec<&str> = names.filter_map(|user| user.first().copied()).collect();
    let has_other_user = users
        .iter()
        .any(|user| number(user.get(3)) == Some(group) && number(user.get(2)) != Some(owner));
    let listed: Vec<Vec<&str>> = groups.lines().map(fields).collect();
    let mut listed = listed
        .iter()
        .filter(|it| number(it.get(2)) == Some(group))
        .peekable();
    let is_known = listed.peek().is_some();
    let has_other_member = listed.any(|it| {
        let members = it.get(3).copied().unwrap_or_default().split(',');
        let mut members = members.map(str::trim).filter(|name| !name.is_empty());
        members.any(|name| !names.contains(&name))
    });
    let is_primary = users
        .iter()
        .any(|user| number(user.get(2)) == Some(owner) && number(user.get(3)) == Some(group));
    !has_other_user && !has_other_member && (group == owner || is_known && is_primary)
}

#[cfg(test)]
mod tests {
    use super::is_private_in;

    #[test]
    fn a_group_is_private_where_its_owner_alone_is_in_it() {
        let users = "root:x:0:0::/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\nbob:x:1001:1007::/home/bob:\n\
                     carl:x:1002:100::/home/carl:\ndora:x:1003:100::/home/dora:\n";
        let groups = "root:x:0:\nanna:x:1000:anna\nbob:x:1007:\nusers:x:100:\ndevs:x:2000:anna,bob\nsolo:x:2001:\n";
        let is_private = |group, owner| is_private_in(users, groups, group, owner);
        assert!(is_private(0, 0) && is_private(1000, 1000) && is_private(1007, 1001));
        // Not in the lists, with the number of its owner.
        assert!(is_private(5000, 5000));
        for (group, owner) in [
            (100, 1002),
            (2000, 1000),
            (1000, 0),
            (1000, 1001),
            (2001, 1000),
            (5000, 1000),
        ] {
            assert!(!is_private(group, owner), "{group} {owner}");
        }
        assert!(!is_private_in(users, "anna:x:1000:anna,bob\n", 1000, 1000));
    }
}
