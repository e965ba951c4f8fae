//! Namespaces and the empty root, which the zygote sets up once for all of its workers.
//!
//! Root leaves its privileges behind in each worker, after it has used them here. Any other user
//! first becomes the master of a user namespace, in which the same calls are allowed.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

use limbeck_domain::{Layer, MissingLayer};
use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, mount_remount, unmount,
};
use rustix::process::{chdir, getegid, geteuid, pivot_root};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::ActiveLayers;

/// The id a worker has inside its user namespace. Any that is not root's would do.
pub(super) const INNER_ID: u32 = 10_001;
/// Where the empty root is put before it becomes `/`: a directory every system that runs us has.
const NEW_ROOT: &str = "/proc";
/// The largest value of `oom_score_adj`.
const FIRST_TO_END: &str = "1000";
/// Size of the empty root: nothing is ever written to it.
const ROOT_OPTIONS: &std::ffi::CStr = c"size=4k,nr_inodes=2,mode=555";

/// Namespaces and how `/proc/self/ns` calls them.
const NAMESPACES: &[(Layer, &str)] = &[
    (Layer::PidNamespace, "self/ns/pid"),
    (Layer::NetworkNamespace, "self/ns/net"),
    (Layer::IpcNamespace, "self/ns/ipc"),
    (Layer::UtsNamespace, "self/ns/uts"),
    (Layer::CgroupNamespace, "self/ns/cgroup"),
    (Layer::EmptyRoot, "self/ns/mnt"),
];

/// Where the zygote came from and where it is now.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// `/proc` of the host, for looking at oneself after the root is gone.
    proc: OwnedFd,
    /// The namespaces the gateway lives in.
    outside: Vec<(Layer, OsString)>,
    /// Whether the zygote became the master of a user namespace: its workers have no other id.
    pub(super) own_user_namespace: bool,
    /// What did not work, and why.
    pub(super) failures: Vec<MissingLayer>,
}

impl Surroundings {
    /// Leaves the gateway's namespaces and root. What fails is recorded; nothing is skipped in silence.
    ///
    /// # Errors
    ///
    /// When `/proc` cannot be read.
    pub(super) fn leave(layers: ActiveLayers) -> io::Result<Self> {
        let proc = openat(
            CWD,
            "/proc",
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let mut surroundings = Self {
            outside: Vec::new(),
            proc,
            own_user_namespace: false,
            failures: Vec::new(),
        };
        surroundings.outside = surroundings.namespaces();
        if let Err(error) = surroundings.unshare(layers) {
            surroundings.fail_all(&error);
            return Ok(surroundings);
        }
        if layers.has(Layer::UtsNamespace) {
            let renamed = rustix::system::sethostname(b"limbeck");
            surroundings.note(Layer::UtsNamespace, renamed.map_err(io::Error::from));
        }
        if layers.has(Layer::EmptyRoot) {
            surroundings.note(Layer::EmptyRoot, empty_root());
        }
        Ok(surroundings)
    }

    /// Namespaces of this process that are not the gateway's.
    pub(super) fn left(&self) -> Vec<Layer> {
        let now = self.namespaces();
        let pairs = self.outside.iter().zip(&now);
        pairs
            .filter(|(outside, inside)| outside != inside)
            .map(|((layer, _), _)| *layer)
            .collect()
    }

    /// Makes this process the first that the kernel kills when memory runs out: a worker and not the
    /// zygote, with which every worker would end, nor another program of the user.
    pub(super) fn give_way(&self) {
        // Raising it takes no privilege. It is no layer: what it changes is who ends, not what is reached.
        let _ = self.write("self/oom_score_adj", FIRST_TO_END);
    }

    fn namespaces(&self) -> Vec<(Layer, OsString)> {
        NAMESPACES
            .iter()
            .map(|(layer, path)| {
                let link = readlinkat(self.proc.as_fd(), *path, Vec::new()).unwrap_or_default();
                (*layer, OsString::from_vec(link.into_bytes()))
            })
            .collect()
    }

    fn unshare(&mut self, layers: ActiveLayers) -> io::Result<()> {
        let mut flags = UnshareFlags::empty();
        for (layer, flag) in [
            (Layer::NetworkNamespace, UnshareFlags::NEWNET),
            (Layer::UtsNamespace, UnshareFlags::NEWUTS),
            (Layer::CgroupNamespace, UnshareFlags::NEWCGROUP),
            (Layer::EmptyRoot, UnshareFlags::NEWNS),
        ] {
            if layers.has(layer) {
                flags |= flag;
            }
        }
        let (uid, gid) = (geteuid(), getegid());
        self.own_user_namespace = !uid.is_root();
        if self.own_user_namespace {
            flags |= UnshareFlags::NEWUSER;
        }
        #[expect(
            unsafe_code,
            reason = "unsharing descriptor tables is unsafe, so the call is"
        )]
        // SAFETY: the flags do not hold `FILES`, the one that breaks what owns a descriptor.
        unsafe {
            unshare_unsafe(flags)?;
        }
        if self.own_user_namespace {
            // Without `deny` an ordinary user may not map its group.
            self.write("self/setgroups", "deny")?;
            self.write("self/uid_map", &format!("{INNER_ID} {} 1", uid.as_raw()))?;
            self.write("self/gid_map", &format!("{INNER_ID} {} 1", gid.as_raw()))?;
            // Defence in depth: no further user namespace from inside, where the kernel supports that.
            let _ = self.write("sys/user/max_user_namespaces", "0");
        }
        Ok(())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(&self.proc, path, flags, Mode::empty())
            .map_err(|error| named(error.into(), path))?;
        rustix::io::write(&file, text.as_bytes()).map_err(|error| named(error.into(), path))?;
        Ok(())
    }

    fn note(&mut self, layer: Layer, result: io::Result<()>) {
        if let Err(error) = result {
            self.failures.push(MissingLayer {
                layer,
                reason: error.to_string(),
            });
        }
    }

    fn fail_all(&mut self, error: &io::Error) {
        for (layer, _) in NAMESPACES {
            self.note(*layer, Err(named_ref(error, "new namespaces")));
        }
    }
}

/// Makes `/` an empty directory that cannot be written to.
fn empty_root() -> io::Result<()> {
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", NEW_ROOT, "tmpfs", flags, ROOT_OPTIONS)?;
    chdir(NEW_ROOT)?;
    // The old root comes to lie over the new one, where it can be detached without a directory for it.
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    mount_remount("/", flags | MountFlags::RDONLY, c"")?;
    Ok(())
}

fn named(error: io::Error, what: &str) -> io::Error {
    named_ref(&error, what)
}

fn named_ref(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
