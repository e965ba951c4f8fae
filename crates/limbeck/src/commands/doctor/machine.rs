//! Findings about the machine: layers that something forbids, a full disk, servers of the other system under WSL, variables that
//! are not set.

use std::path::Path;

use limbeck_domain::Sandbox;
use limbeck_domain::text::clean_line;
use limbeck_setup::{Configuration, ServerEntry, Transport, World};
use limbeck_store::StoreError;

use super::clients::Finding;

/// Longest list or reason in a finding, in bytes.
const TEXT_BYTES_MAX: usize = 300;
/// Variables that name a container: ours, and that of Podman and systemd.
const OF_CONTAINER: [&str; 2] = ["LIMBECK_CONTAINER", "container"];
/// Files that engines put into containers.
const FILES_OF_CONTAINER: [&str; 2] = ["/run/.containerenv", "/.dockerenv"];
/// Variable of a shell under WSL.
const OF_WSL: &str = "WSL_DISTRO_NAME";

fn finding(code: &'static str, finding: String, remedy: impl Into<String>) -> Finding {
    Finding {
        code,
        finding: clean_line(&finding, 2 * TEXT_BYTES_MAX),
        remedy: remedy.into(),
        fix: false,
        is_proposal: false,
        is_command: false,
    }
}

/// What the system says about namespaces and filters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Restrictions {
    is_container: bool,
    /// `kernel.apparmor_restrict_unprivileged_userns`.
    apparmor: Option<String>,
    /// `kernel.unprivileged_userns_clone`, of Debian.
    userns_clone: Option<String>,
    /// `user.max_user_namespaces`.
    max_user_namespaces: Option<String>,
    /// Security modules of the kernel.
    lsm: Option<String>,
}

impl Restrictions {
    fn read(world: &World) -> Self {
        let read = |path: &str| {
            let text = std::fs::read_to_string(world.on_disk(Path::new(path))).ok()?;
            Some(text.trim().to_owned())
        };
        let mut variables = OF_CONTAINER.iter();
        let mut files = FILES_OF_CONTAINER.iter();
        Self {
            is_container: variables.any(|name| world.nonempty_variable(name).is_some())
                || files.any(|file| world.on_disk(Path::new(file)).exists()),
            apparmor: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            userns_clone: read("/proc/sys/kernel/unprivileged_userns_clone"),
            max_user_namespaces: read("/proc/sys/user/max_user_namespaces"),
            lsm: read("/sys/kernel/security/lsm"),
        }
    }

    /// Why layers are missing, and what gives them back.
    fn explain(&self, missing: &[&str]) -> (&'static str, String) {
        let is = |value: &Option<String>, wanted: &str| value.as_deref() == Some(wanted);
        if self.is_container {
            return (
                "the container's engine forbids them",
                "start the container with `--cap-drop ALL --security-opt seccomp=limbeck-seccomp.json --security-opt apparmor=unconfined`; the profile is in packaging/container".to_owned(),
            );
        }
        if is(&self.max_user_namespaces, "0") {
            return (
                "the system allows no user namespaces",
                "sudo sysctl -w user.max_user_namespaces=15000".to_owned(),
            );
        }
        if is(&self.userns_clone, "0") {
            return (
                "the system allows user namespaces to root alone",
                "sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned(),
            );
        }
        if is(&self.apparmor, "1") && missing.iter().any(|layer| layer.ends_with("_namespace")) {
            return (
                "AppArmor allows user namespaces only to programs with a profile",
                "install the Debian package, which has the profile, or load packaging/debian/apparmor for the path of your `limbeck` with `sudo apparmor_parser --replace`".to_owned(),
            );
        }
        let has_landlock = self.lsm.as_ref().is_none_or(|lsm| lsm.contains("landlock"));
        if missing == ["landlock"] && !has_landlock {
            return (
                "the kernel runs without Landlock",
                "add `landlock` to the `lsm=` of the kernel's command line".to_owned(),
            );
        }
        (
            "the kernel, or a filter around this process, forbids them",
            "limbeck doctor --sandbox".to_owned(),
        )
    }
}

/// B01: layers of `strict` are missing, with the cause and the exact remedy.
pub(super) fn missing_layers(world: &World, sandbox: Option<&Sandbox>) -> Option<Finding> {
    let missing: Vec<&str> = sandbox?
        .lacks()
        .map(|missing| missing.layer.as_str())
        .collect();
    if missing.is_empty() || !cfg!(target_os = "linux") {
        return None;
    }
    let (cause, remedy) = Restrictions::read(world).explain(&missing);
    let text = format!(
        "layers of the sandbox are missing ({}): {cause}",
        missing.join(", ")
    );
    Some(Finding {
        is_command: remedy.starts_with("sudo ") || remedy.starts_with("limbeck "),
        ..finding("B01", text, remedy)
    })
}

/// D01: the disk of the state has too little room.
pub(super) fn full_disk(state: Option<&Path>, space: Result<(), StoreError>) -> Option<Finding> {
    let error = space.err()?;
    let path = state
        .map(|path| path.display().to_string())
        .unwrap_or_default();
    Some(finding(
        "D01",
        format!("no program runs, because {error} ({path})"),
        "free space on that file system, or lower `disk_free_mib` under `[limits]` of your configuration",
    ))
}

/// P04: under WSL, programs of Windows or a home directory of Windows.
pub(super) fn other_side(world: &World, configuration: &Configuration) -> Option<Finding> {
    world.nonempty_variable(OF_WSL)?;
    let is_windows = |path: &Path| {
        let text = path.to_string_lossy();
        text.starts_with("/mnt/") || text.to_ascii_lowercase().ends_with(".exe")
    };
    let home = world.home.as_ref().filter(|home| is_windows(home));
    let servers = configuration.servers.iter().filter(|entry| {
        let stdio = |definition: &Transport| match definition {
            Transport::Stdio { command, .. } => is_windows(command),
            Transport::Http { .. } => false,
        };
        !entry.disabled && entry.definition.as_ref().is_ok_and(stdio)
    });
    let names = names(servers);
    let what = match (home, names.is_empty()) {
        (Some(home), _) => format!("the home directory {} is that of Windows", home.display()),
        (None, false) => format!("servers start programs of Windows from WSL: {names}"),
        (None, true) => return None,
    };
    Some(finding(
        "P04",
        what,
        "run `limbeck setup` on the side where the servers are: in Windows for programs of Windows, in WSL for those of Linux",
    ))
}

/// E01: entries that refer to variables that are not set, as they would be where a client starts Limbeck.
pub(super) fn unset_variables(configuration: &Configuration) -> Option<Finding> {
    let is_unset = |entry: &&ServerEntry| {
        let is_about =
            |text: String| text.contains("environment variable `") && text.contains("` is not set");
        !entry.disabled
            && !entry.is_held_back()
            && entry
                .definition
                .as_ref()
                .is_err_and(|error| is_about(error.to_string()))
    };
    let names = names(configuration.servers.iter().filter(is_unset));
    (!names.is_empty()).then(|| {
        finding(
            "E01",
            format!("servers refer to variables that are not set: {names}"),
            "a client that is not started from your shell lacks its variables: write the value into a file and refer to it with `file:PATH` in `env` of your own configuration, or set the variable in the client's entry for Limbeck",
        )
    })
}

fn names<'e>(servers: impl Iterator<Item = &'e ServerEntry>) -> String {
    let names: Vec<String> = servers.map(|entry| format!("`{}`", entry.name)).collect();
    clean_line(&names.join(", "), TEXT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_the_switch_that_is_off() {
        let some = |text: &str| Some(text.to_owned());
        let restrictions = |change: fn(&mut Restrictions)| {
            let mut restrictions = Restrictions {
                apparmor: Some("0".to_owned()),
                userns_clone: Some("1".to_owned()),
                max_user_namespaces: Some("63000".to_owned()),
                ..Restrictions::default()
            };
            change(&mut restrictions);
            restrictions
        };
        let remedy = |restrictions: Restrictions, missing: &[&str]| restrictions.explain(missing).1;
        let namespaces = ["pid_namespace", "empty_root"];
        for (change, part) in [
            (
                (|it| it.is_container = true) as fn(&mut Restrictions),
                "seccomp=limbeck-seccomp.json",
            ),
            (
                |it| it.max_user_namespaces = Some("0".to_owned()),
                "user.max_user_namespaces=15000",
            ),
            (
                |it| it.userns_clone = Some("0".to_owned()),
                "kernel.unprivileged_userns_clone=1",
            ),
            (|it| it.apparmor = Some("1".to_owned()), "apparmor_parser"),
            // The control: nothing is off.
            (|_| {}, "limbeck doctor --sandbox"),
        ] {
            let remedy = remedy(restrictions(change), &namespaces);
            assert!(remedy.contains(part), "{remedy}");
        }
        let without = Restrictions {
            lsm: some("capability,yama"),
            ..Restrictions::default()
        };
        assert!(remedy(without, &["landlock"]).contains("`lsm=`"));
    }
}
